// SPDX-License-Identifier: Apache-2.0
/*
 * config_refusal.c - manifests that are refused: what, where, and in which words.
 *
 * Each row makes exactly one error. In the texts ' stands for ".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/diag.h"
#include "config/pod_spec.h"

#define HEAD   "{'apiVersion':'v1','kind':'Pod',"
#define META   "'metadata':{'name':'p'},"
#define CON    "{'name':'c','image':'i'}"
#define CONS   "'containers':[" CON "]"
#define SPEC   "'spec':{" CONS "}"
#define NAME63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
/* A pod with more metadata, spec, of its container, of an init container. */
#define M(x)   HEAD "'metadata':{'name':'p'," x "}," SPEC "}"
#define S(x)   HEAD META "'spec':{" x "," CONS "}}"
#define C(x)   HEAD META "'spec':{'containers':[{'name':'c','image':'i'," x "}]}}"
#define I(x) \
	HEAD META "'spec':{'initContainers':[{'name':'n','image':'i'," x "}]," CONS "}}"
#define V(x) S("'volumes':[" x "]")
#define MOUNT(x)                                                                         \
	HEAD META "'spec':{'volumes':[{'name':'v'}],'containers':[{'name':'c','image':'" \
		  "i',"                                                                  \
		  "'volumeMounts':[" x "]}]}}"
#define SEC(x) C("'securityContext':{" x "}")
#define RES(x) C("'resources':{" x "}")
#define C0     "/spec/containers/0/"

struct row {
	const char *json;
	enum diag_kind kind;
	const char *pointer, *text;
};

static const struct row rows[] = {
	/* not JSON, or JSON that is not clear */
	{ "", DIAG_SYNTAX, "", "the text ends here" },
	{ " \n", DIAG_SYNTAX, "", "the text ends here" },
	{ "{", DIAG_SYNTAX, "", "a key in double quotes" },
	{ "{'a'}", DIAG_SYNTAX, "", "':' after a key" },
	{ "{'a':}", DIAG_SYNTAX, "", "'}' here; expected a JSON value" },
	{ "{'a':1,}", DIAG_SYNTAX, "", "a key in double quotes" },
	{ "{'a':1 'b':2}", DIAG_SYNTAX, "", "',' or '}' after a value" },
	{ "{'a':[1 2]}", DIAG_SYNTAX, "", "',' or ']' after a value" },
	{ "{'a':[1,]}", DIAG_SYNTAX, "", "a JSON value" },
	{ "{'a':01}", DIAG_SYNTAX, "", "leading 0" },
	{ "{'a':1.}", DIAG_SYNTAX, "", "a digit" },
	{ "{'a':1e}", DIAG_SYNTAX, "", "a digit" },
	{ "{'a':-}", DIAG_SYNTAX, "", "a digit" },
	{ "{'a':+1}", DIAG_SYNTAX, "", "a JSON value" },
	{ "{'a':NaN}", DIAG_SYNTAX, "", "a JSON value" },
	{ "{'a':True}", DIAG_SYNTAX, "", "a JSON value" },
	{ "{'a':tru}", DIAG_SYNTAX, "", "true" },
	{ "{'a':nul", DIAG_SYNTAX, "", "null" },
	{ "{a:1}", DIAG_SYNTAX, "", "a key in double quotes" },
	{ "{'a':'x", DIAG_SYNTAX, "", "closing quote" },
	{ "{'a':'x\ny'}", DIAG_SYNTAX, "", "byte 0x0a" },
	{ "{'a':'\\x'}", DIAG_SYNTAX, "", "an escape" },
	{ "{'a':'\\u12'}", DIAG_SYNTAX, "", "hexadecimal" },
	{ "{'a':'\xff'}", DIAG_SYNTAX, "", "UTF-8" },
	{ "{'a':'\xc0\xaf'}", DIAG_SYNTAX, "", "UTF-8" },
	{ "{'a':'\xed\xa0\x80'}", DIAG_SYNTAX, "", "UTF-8" },
	{ "{'a':'\xf4\x90\x80\x80'}", DIAG_SYNTAX, "", "UTF-8" },
	{ "\xef\xbb\xbf{}", DIAG_SYNTAX, "", "byte 0xef" },
	{ "{} {}", DIAG_SYNTAX, "", "nothing after the document" },
	{ "{}x", DIAG_SYNTAX, "", "nothing after the document" },
	{ "{}/* c */", DIAG_SYNTAX, "", "nothing after the document" },
	{ "[]", DIAG_TYPE, "", "must be an object" },
	{ "null", DIAG_TYPE, "", "must be an object" },
	{ M("'uid':'a','uid':'b'"), DIAG_DUPLICATE, "/metadata/uid", "duplicate key" },
	{ M("'labels':{'a':'','\\u0061':''}"), DIAG_DUPLICATE, "/metadata/labels/a",
	  "duplicate key \"a\"" },
	{ M("'annotations':{'a':'\\u0000'}"), DIAG_VALUE, "/metadata/annotations/a",
	  "\\u0000" },
	{ M("'annotations':{'a':'\\ud800'}"), DIAG_VALUE, "/metadata/annotations/a",
	  "surrogate" },
	{ M("'generation':9223372036854775808"), DIAG_VALUE, "/metadata/generation",
	  "64 bits" },
	{ "{'a':[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
	  DIAG_LIMIT, "/a/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
	  "deeper than 32" },

	/* which document */
	{ "{'apiVersion':'v1'," META SPEC "}", DIAG_MISSING, "/kind", "kind" },
	{ "{'kind':'Pod'," META SPEC "}", DIAG_MISSING, "/apiVersion", "apiVersion" },
	{ "{'apiVersion':'v1beta1','kind':'Pod'," META SPEC "}", DIAG_VALUE,
	  "/apiVersion", "must be \"v1\"" },
	{ "{'apiVersion':'v1','kind':'pod'," META SPEC "}", DIAG_VALUE, "/kind",
	  "did you mean \"Pod\"?" },
	{ "{'apiVersion':'v1','kind':1," META SPEC "}", DIAG_TYPE, "/kind",
	  "must be a string, not a number" },
	{ "{'apiVersion':'apps/v1','kind':'Deployment'," META SPEC "}", DIAG_UNSUPPORTED,
	  "/kind", "kind \"Deployment\" is not supported" },
	{ "{'apiVersion':'v1','kind':'Service'}", DIAG_UNSUPPORTED, "/kind", "Service" },
	{ "{'apiVersion':'v1','kind':'configmap'}", DIAG_VALUE, "/kind",
	  "\"ConfigMap\"?" },
	{ "{'id':'x','containers':[" CON "],'resource':{'vcpu':1}}", DIAG_UNSUPPORTED, "",
	  "looks like a hyper pod file" },
	{ "{'apiVersion':'v4','kind':'application','spec':{}}", DIAG_UNSUPPORTED, "",
	  "looks like a BCS application" },
	{ "{'apiVersion':'v1','kind':'List'}", DIAG_MISSING, "/items", "items" },
	{ "{'apiVersion':'v1','kind':'List','items':{}}", DIAG_TYPE, "/items",
	  "must be a list, not an object" },
	{ "{'apiVersion':'v1','kind':'List','items':[],'itemz':1}", DIAG_UNKNOWN,
	  "/itemz", "did you mean \"items\"?" },
	{ "{'apiVersion':'v1','kind':'List','items':[1]}", DIAG_TYPE, "/items/0",
	  "must be an object" },
	{ "{'apiVersion':'v1','kind':'List','items':[{'apiVersion':'v1','kind':'List',"
	  "'items':[]}]}",
	  DIAG_UNSUPPORTED, "/items/0/kind", "List" },

	/* metadata */
	{ HEAD SPEC "}", DIAG_MISSING, "/metadata", "\"metadata\" is missing" },
	{ HEAD "'metadata':{}," SPEC "}", DIAG_MISSING, "/metadata/name", "\"name\"" },
	{ HEAD "'metadata':{'generateName':'p-'}," SPEC "}", DIAG_MISSING,
	  "/metadata/name", "\"name\"" },
	{ HEAD "'metadata':{'name':''}," SPEC "}", DIAG_VALUE, "/metadata/name",
	  "must not be empty" },
	{ HEAD "'metadata':{'name':'A'}," SPEC "}", DIAG_VALUE, "/metadata/name",
	  "\"A\" must be a DNS subdomain" },
	{ HEAD "'metadata':{'name':'a..b'}," SPEC "}", DIAG_VALUE, "/metadata/name",
	  "DNS subdomain" },
	{ HEAD "'metadata':{'name':'-a'}," SPEC "}", DIAG_VALUE, "/metadata/name",
	  "DNS subdomain" },
	{ HEAD "'metadata':{'name':'../x'}," SPEC "}", DIAG_VALUE, "/metadata/name",
	  "DNS subdomain" },
	{ HEAD "'metadata':{'name':'" NAME63 NAME63 NAME63 NAME63 "aa'}," SPEC "}",
	  DIAG_VALUE, "/metadata/name", "at most 253" },
	{ M("'namespace':'a.b'"), DIAG_VALUE, "/metadata/namespace", "DNS label" },
	{ M("'namespace':'" NAME63 "a'"), DIAG_VALUE, "/metadata/namespace",
	  "at most 63" },
	{ M("'namespace':7"), DIAG_TYPE, "/metadata/namespace", "string" },
	{ M("'uid':'a/b'"), DIAG_VALUE, "/metadata/uid", "must be at most 64" },
	{ M("'labels':[]"), DIAG_TYPE, "/metadata/labels", "an object, not a list" },
	{ M("'labels':{'a':1}"), DIAG_TYPE, "/metadata/labels/a", "string" },
	{ M("'labels':{'a':'b c'}"), DIAG_VALUE, "/metadata/labels/a",
	  "\"b c\" must be" },
	{ M("'labels':{'-a':''}"), DIAG_VALUE, "/metadata/labels/-a", "a key" },
	{ M("'labels':{'':''}"), DIAG_VALUE, "/metadata/labels/", "a key" },
	{ M("'labels':{'X.y/a':''}"), DIAG_VALUE, "/metadata/labels/X.y~1a", "a key" },
	{ M("'labels':{'x/y/z':''}"), DIAG_VALUE, "/metadata/labels/x~1y~1z", "a key" },
	{ M("'annotations':{'a~b':''}"), DIAG_VALUE, "/metadata/annotations/a~0b",
	  "a key" },
	{ M("'label':{}"), DIAG_UNKNOWN, "/metadata/label", "did you mean \"labels\"?" },
	{ M("'finalizers':{}"), DIAG_TYPE, "/metadata/finalizers", "a list" },

	/* spec */
	{ HEAD "'metadata':{'name':'p'}}", DIAG_MISSING, "/spec", "\"spec\" is missing" },
	{ HEAD META "'spec':{}}", DIAG_MISSING, "/spec/containers", "\"containers\"" },
	{ HEAD META "'spec':{'containers':null}}", DIAG_MISSING, "/spec/containers",
	  "\"containers\"" },
	{ HEAD META "'spec':{'containers':[]}}", DIAG_MISSING, "/spec/containers",
	  "at least one" },
	{ HEAD META "'spec':{'containers':[null]}}", DIAG_TYPE, "/spec/containers/0",
	  "must be an object, not null" },
	{ HEAD META SPEC ",'spce':1}", DIAG_UNKNOWN, "/spce", "did you mean \"spec\"?" },
	{ S("'RestartPolicy':'Never'"), DIAG_UNKNOWN, "/spec/RestartPolicy",
	  "did you mean \"restartPolicy\"?" },
	{ S("'banana':1"), DIAG_UNKNOWN, "/spec/banana", "unknown field \"banana\"" },
	{ S("'restartPolicy':'always'"), DIAG_VALUE, "/spec/restartPolicy",
	  "\"Always\", \"OnFailure\" or \"Never\"" },
	{ S("'terminationGracePeriodSeconds':-1"), DIAG_VALUE,
	  "/spec/terminationGracePeriodSeconds", "between 0 and 2147483647" },
	{ S("'terminationGracePeriodSeconds':1.0"), DIAG_TYPE,
	  "/spec/terminationGracePeriodSeconds", "whole number" },
	{ S("'terminationGracePeriodSeconds':'5'"), DIAG_TYPE,
	  "/spec/terminationGracePeriodSeconds", "a number, not a string" },
	{ S("'activeDeadlineSeconds':0"), DIAG_VALUE, "/spec/activeDeadlineSeconds",
	  "between 1 and 2147483647" },
	{ S("'activeDeadlineSeconds':9"), DIAG_UNSUPPORTED, "/spec/activeDeadlineSeconds",
	  "activeDeadlineSeconds" },
	{ S("'hostname':'a.b'"), DIAG_VALUE, "/spec/hostname", "DNS label" },
	{ S("'hostNetwork':'true'"), DIAG_TYPE, "/spec/hostNetwork", "a boolean" },
	{ S("'os':{'name':'windows'}"), DIAG_UNSUPPORTED, "/spec/os/name", "linux" },
	{ S("'os':{'name':'dos'}"), DIAG_VALUE, "/spec/os/name", "\"dos\"" },
	{ S("'os':{}"), DIAG_MISSING, "/spec/os/name", "name" },
	{ S("'shareProcessNamespace':true,'hostPID':true"), DIAG_VALUE,
	  "/spec/shareProcessNamespace", "not both" },
	{ S("'hostPID':'false'"), DIAG_TYPE, "/spec/hostPID", "a boolean" },
	{ S("'hostUsers':false"), DIAG_UNSUPPORTED, "/spec/hostUsers", "hostUsers" },
	{ S("'dnsPolicy':'None'"), DIAG_MISSING, "/spec/dnsPolicy", "nameservers" },
	{ S("'dnsPolicy':'Noone'"), DIAG_VALUE, "/spec/dnsPolicy", "must be" },
	{ S("'dnsConfig':{'nameservers':['x']}"), DIAG_VALUE,
	  "/spec/dnsConfig/nameservers/0", "IP address" },
	{ S("'dnsConfig':{'nameservers':['1.1.1.1','1.1.1.2','1.1.1.3','::1']}"),
	  DIAG_LIMIT, "/spec/dnsConfig/nameservers", "at most 3" },
	{ S("'dnsConfig':{'searches':['a b']}"), DIAG_VALUE, "/spec/dnsConfig/searches/0",
	  "must" },
	{ S("'dnsConfig':{'options':[{'value':'x'}]}"), DIAG_MISSING,
	  "/spec/dnsConfig/options/0/name", "name" },
	{ S("'dnsConfig':{'options':[{'name':'a b'}]}"), DIAG_VALUE,
	  "/spec/dnsConfig/options/0/name", "one word" },
	{ S("'hostAliases':[{}]"), DIAG_MISSING, "/spec/hostAliases/0/ip", "ip" },
	{ S("'hostAliases':[{'ip':'x'}]"), DIAG_VALUE, "/spec/hostAliases/0/ip",
	  "IP address" },
	{ S("'hostAliases':[{'ip':'1.2.3.4','hostnames':['A b']}]"), DIAG_VALUE,
	  "/spec/hostAliases/0/hostnames/0", "DNS" },
	{ S("'subdomain':'x.y'"), DIAG_VALUE, "/spec/subdomain", "DNS label" },
	{ S("'hostnameOverride':'X'"), DIAG_VALUE, "/spec/hostnameOverride", "DNS" },
	{ S("'hostnameOverride':'x','setHostnameAsFQDN':true"), DIAG_VALUE,
	  "/spec/hostnameOverride", "setHostnameAsFQDN" },
	{ S("'hostnameOverride':'x','hostNetwork':true"), DIAG_VALUE,
	  "/spec/hostnameOverride", "hostNetwork" },
	{ S("'hostnameOverride':'" NAME63 ".b'"), DIAG_VALUE, "/spec/hostnameOverride",
	  "at most 64" },
	{ S("'readinessGates':[{}]"), DIAG_UNSUPPORTED, "/spec/readinessGates", "yet" },
	{ S("'runtimeClassName':'kata'"), DIAG_UNSUPPORTED, "/spec/runtimeClassName",
	  "\"kata\"" },
	{ S("'ephemeralContainers':[{}]"), DIAG_UNSUPPORTED, "/spec/ephemeralContainers",
	  "ephemeralContainers" },
	{ S("'resources':{'limits':{}}"), DIAG_UNSUPPORTED, "/spec/resources", "yet" },
	{ S("'resourceClaims':[{}]"), DIAG_UNSUPPORTED, "/spec/resourceClaims", "yet" },
	{ S("'nodeSelector':[]"), DIAG_TYPE, "/spec/nodeSelector", "an object" },
	{ S("'securityContext':{'runAsUser':-1}"), DIAG_VALUE,
	  "/spec/securityContext/runAsUser", "between 0 and 2147483647" },
	{ S("'securityContext':{'runAsGroup':2147483648}"), DIAG_VALUE,
	  "/spec/securityContext/runAsGroup", "between" },
	{ S("'securityContext':{'runAsNonRoot':'yes'}"), DIAG_TYPE,
	  "/spec/securityContext/runAsNonRoot", "a boolean" },
	{ S("'securityContext':{'fsGroup':-1}"), DIAG_VALUE,
	  "/spec/securityContext/fsGroup", "between 0" },
	{ S("'securityContext':{'supplementalGroups':[1,-1]}"), DIAG_VALUE,
	  "/spec/securityContext/supplementalGroups/1", "between 0" },
	{ S("'securityContext':{'supplementalGroups':['wheel']}"), DIAG_TYPE,
	  "/spec/securityContext/supplementalGroups/0", "whole number" },
	{ S("'securityContext':{'supplementalGroups':[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,"
	    "7,"
	    "8,9,0,1,2,3,4,5,6,7,8,9,0,1,2]}"),
	  DIAG_LIMIT, "/spec/securityContext/supplementalGroups", "at most 32" },
	{ S("'securityContext':{'supplementalGroupsPolicy':'strict'}"), DIAG_VALUE,
	  "/spec/securityContext/supplementalGroupsPolicy", "Strict" },
	{ S("'securityContext':{'sysctls':[{'name':'a-','value':'b'}]}"), DIAG_VALUE,
	  "/spec/securityContext/sysctls/0/name", "sysctl's name" },
	{ S("'securityContext':{'sysctls':[{'name':'a..b','value':'b'}]}"), DIAG_VALUE,
	  "/spec/securityContext/sysctls/0/name", "sysctl's name" },
	{ S("'securityContext':{'sysctls':[{'name':'../b','value':'b'}]}"), DIAG_VALUE,
	  "/spec/securityContext/sysctls/0/name", "sysctl's name" },
	{ S("'securityContext':{'sysctls':[{'name':'a.b'}]}"), DIAG_MISSING,
	  "/spec/securityContext/sysctls/0/value", "value" },
	{ S("'securityContext':{'sysctls':[{'name':'a.b','value':'1'},{'name':'a/b',"
	    "'value':'1'}]}"),
	  DIAG_DUPLICATE, "/spec/securityContext/sysctls/1/name", "duplicate sysctl" },
	{ S("'securityContext':{'runAsUsr':1}"), DIAG_UNKNOWN,
	  "/spec/securityContext/runAsUsr", "\"runAsUser\"?" },

	/* volumes and mounts */
	{ V("{}"), DIAG_MISSING, "/spec/volumes/0/name", "name" },
	{ V("{'name':'A'}"), DIAG_VALUE, "/spec/volumes/0/name", "DNS label" },
	{ V("{'name':'a'},{'name':'a'}"), DIAG_DUPLICATE, "/spec/volumes/1/name",
	  "duplicate volume name" },
	{ V("{'name':'a','emptyDir':{},'hostPath':{'path':'/'}}"), DIAG_VALUE,
	  "/spec/volumes/0", "one source only" },
	{ V("{'name':'a','emptydir':{}}"), DIAG_UNKNOWN, "/spec/volumes/0/emptydir",
	  "\"emptyDir\"?" },
	{ V("{'name':'a','emptyDir':{'medium':'Disk'}}"), DIAG_VALUE,
	  "/spec/volumes/0/emptyDir/medium", "\"Memory\"" },
	{ V("{'name':'a','emptyDir':{'medium':'HugePages-2Mi'}}"), DIAG_UNSUPPORTED,
	  "/spec/volumes/0/emptyDir/medium", "yet" },
	{ V("{'name':'a','emptyDir':{'sizeLimit':'1GB'}}"), DIAG_VALUE,
	  "/spec/volumes/0/emptyDir/sizeLimit", "no size" },
	{ V("{'name':'a','hostPath':{}}"), DIAG_MISSING, "/spec/volumes/0/hostPath/path",
	  "path" },
	{ V("{'name':'a','hostPath':{'path':''}}"), DIAG_VALUE,
	  "/spec/volumes/0/hostPath/path", "must not be empty" },
	{ V("{'name':'a','hostPath':{'path':'a'}}"), DIAG_VALUE,
	  "/spec/volumes/0/hostPath/path", "absolute" },
	{ V("{'name':'a','hostPath':{'path':'/a/../b'}}"), DIAG_VALUE,
	  "/spec/volumes/0/hostPath/path", "\"..\"" },
	{ V("{'name':'a','hostPath':{'path':'/a','type':'Dir'}}"), DIAG_VALUE,
	  "/spec/volumes/0/hostPath/type", "DirectoryOrCreate" },
	{ V("{'name':'a','nfs':{}}"), DIAG_UNSUPPORTED, "/spec/volumes/0/nfs", "nfs" },
	{ MOUNT("{'name':'w','mountPath':'/a'}"), DIAG_VALUE, C0 "volumeMounts/0/name",
	  "no volume \"w\"" },
	{ MOUNT("{'name':'v'}"), DIAG_MISSING, C0 "volumeMounts/0/mountPath",
	  "mountPath" },
	{ MOUNT("{'name':'v','mountPath':''}"), DIAG_VALUE, C0 "volumeMounts/0/mountPath",
	  "path" },
	{ MOUNT("{'name':'v','mountPath':'/a:b'}"), DIAG_VALUE,
	  C0 "volumeMounts/0/mountPath", "':'" },
	{ MOUNT("{'name':'v','mountPath':'/a/..'}"), DIAG_VALUE,
	  C0 "volumeMounts/0/mountPath", "root" },
	{ MOUNT("{'name':'v','mountPath':'/a'},{'name':'v','mountPath':'//a/./'}"),
	  DIAG_DUPLICATE, C0 "volumeMounts/1/mountPath", "unique" },
	{ MOUNT("{'name':'v','mountPath':'/a','subPath':'/x'}"), DIAG_VALUE,
	  C0 "volumeMounts/0/subPath", "relative" },
	{ MOUNT("{'name':'v','mountPath':'/a','subPath':'x/../y'}"), DIAG_VALUE,
	  C0 "volumeMounts/0/subPath", "without \"..\"" },
	{ MOUNT("{'name':'v','mountPath':'/a','subPath':'x','subPathExpr':'y'}"),
	  DIAG_VALUE, C0 "volumeMounts/0/subPathExpr", "together" },
	{ MOUNT("{'name':'v','mountPath':'/a','subPathExpr':'../y'}"), DIAG_VALUE,
	  C0 "volumeMounts/0/subPathExpr", "without \"..\"" },
	{ MOUNT("{'name':'v','mountPath':'/a','recursiveReadOnly':'Enabled'}"),
	  DIAG_VALUE, C0 "volumeMounts/0/recursiveReadOnly", "when readOnly is true" },
	{ MOUNT("{'name':'v','mountPath':'/a','mountPropagation':'Bidirectional'}"),
	  DIAG_VALUE, C0 "volumeMounts", "only to privileged" },
	{ MOUNT("{'name':'v','mountPath':'/a','readonly':true}"), DIAG_UNKNOWN,
	  C0 "volumeMounts/0/readonly", "\"readOnly\"?" },

	/* containers */
	{ HEAD META "'spec':{'containers':[{'image':'i'}]}}", DIAG_MISSING, C0 "name",
	  "name" },
	{ HEAD META "'spec':{'containers':[{'name':'c'}]}}", DIAG_MISSING, C0 "image",
	  "image" },
	{ HEAD META "'spec':{'containers':[{'name':'C','image':'i'}]}}", DIAG_VALUE,
	  C0 "name", "DNS label" },
	{ HEAD META "'spec':{'containers':[{'name':'c','image':''}]}}", DIAG_VALUE,
	  C0 "image", "must not be empty" },
	{ HEAD META "'spec':{'containers':[{'name':'c','image':' i'}]}}", DIAG_VALUE,
	  C0 "image", "without blanks" },
	{ HEAD META "'spec':{'containers':[" CON "," CON "]}}", DIAG_DUPLICATE,
	  "/spec/containers/1/name", "duplicate container name" },
	{ S("'initContainers':[" CON "]"), DIAG_DUPLICATE, C0 "name", "duplicate" },
	{ C("'comand':[]"), DIAG_UNKNOWN, C0 "comand",
	  "unknown field \"comand\"; did you mean \"command\"?" },
	{ C("'unknownKnob':1"), DIAG_UNKNOWN, C0 "unknownKnob", "unknown field" },
	{ C("'imagePullPolicy':'Sometimes'"), DIAG_VALUE, C0 "imagePullPolicy",
	  "IfNotPresent" },
	{ C("'command':'sh -c x'"), DIAG_TYPE, C0 "command", "a list, not a string" },
	{ C("'command':['sh',1]"), DIAG_TYPE, C0 "command/1", "a string" },
	{ C("'args':[null]"), DIAG_TYPE, C0 "args/0", "a string, not null" },
	{ C("'workingDir':'srv'"), DIAG_VALUE, C0 "workingDir", "absolute" },
	{ C("'env':[{'value':'x'}]"), DIAG_MISSING, C0 "env/0/name", "name" },
	{ C("'env':[{'name':''}]"), DIAG_VALUE, C0 "env/0/name", "must not be empty" },
	{ C("'env':[{'name':'A=B'}]"), DIAG_VALUE, C0 "env/0/name", "without '='" },
	{ C("'env':[{'name':'\xc3\xa9'}]"), DIAG_VALUE, C0 "env/0/name", "ASCII" },
	{ C("'env':[{'name':'A','value':1}]"), DIAG_TYPE, C0 "env/0/value", "a string" },
	{ C("'env':[{'name':'A','valueFrom':{}}]"), DIAG_MISSING, C0 "env/0/valueFrom",
	  "exactly one" },
	{ C("'env':[{'name':'A','value':'x','valueFrom':{'fieldRef':{'fieldPath':"
	    "'status.podIP'}}}]"),
	  DIAG_VALUE, C0 "env/0/valueFrom", "together" },
	{ C("'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'status.podip'}}}]"),
	  DIAG_VALUE, C0 "env/0/valueFrom/fieldRef/fieldPath", "\"status.podIP\"?" },
	{ C("'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'x'}}}]"),
	  DIAG_VALUE, C0 "env/0/valueFrom/fieldRef/fieldPath", "fieldPath" },
	{ C("'env':[{'name':'A','valueFrom':{'fieldRef':{}}}]"), DIAG_MISSING,
	  C0 "env/0/valueFrom/fieldRef/fieldPath", "fieldPath" },
	{ C("'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':"
	    "'status.podIP','apiVersion':'v2'}}}]"),
	  DIAG_VALUE, C0 "env/0/valueFrom/fieldRef/apiVersion", "v1" },
	{ C("'envFrom':[{}]"), DIAG_VALUE, C0 "envFrom/0", "one of configMapRef" },
	{ RES("'limits':{'memory':'64 MB'}"), DIAG_VALUE, C0 "resources/limits/memory",
	  "\"64 MB\" is no quantity" },
	{ RES("'limits':{'memory':'-1'}"), DIAG_VALUE, C0 "resources/limits/memory",
	  "quantity" },
	{ RES("'limits':{'memory':true}"), DIAG_VALUE, C0 "resources/limits/memory",
	  "quantity" },
	{ RES("'limits':{'memory':'9E'}"), DIAG_VALUE, C0 "resources/limits/memory",
	  "more than any machine" },
	{ RES("'requests':{'cpu':'1.5x'}"), DIAG_VALUE, C0 "resources/requests/cpu",
	  "250m" },
	{ RES("'requests':{'cpu':'2'},'limits':{'cpu':'1999m'}"), DIAG_VALUE,
	  C0 "resources/requests/cpu", "cpu limit 1999m" },
	{ RES("'requests':{'memory':'65Mi'},'limits':{'memory':'64Mi'}"), DIAG_VALUE,
	  C0 "resources/requests/memory", "memory limit 64Mi" },
	{ RES("'limits':{'nvidia.com/gpu':1}"), DIAG_UNSUPPORTED,
	  C0 "resources/limits/nvidia.com~1gpu", "yet" },
	{ RES("'limits':{'hugepages-2Mi':'2Mi'}"), DIAG_UNSUPPORTED,
	  C0 "resources/limits/hugepages-2Mi", "yet" },
	{ RES("'limits':{'ephemeral-storage':'1G'}"), DIAG_UNSUPPORTED,
	  C0 "resources/limits/ephemeral-storage", "yet" },
	{ RES("'limits':{'ram':'1G'}"), DIAG_UNKNOWN, C0 "resources/limits/ram",
	  "cpu and memory" },
	{ RES("'claims':[{'name':'x'}]"), DIAG_UNSUPPORTED, C0 "resources/claims",
	  "yet" },
	{ RES("'limit':{}"), DIAG_UNKNOWN, C0 "resources/limit", "\"limits\"?" },
	{ C("'restartPolicy':'Never'"), DIAG_UNSUPPORTED, C0 "restartPolicy", "yet" },
	{ C("'ports':[{}]"), DIAG_MISSING, C0 "ports/0/containerPort", "containerPort" },
	{ C("'ports':[{'containerPort':0}]"), DIAG_VALUE, C0 "ports/0/containerPort",
	  "between 1 and 65535" },
	{ C("'ports':[{'containerPort':1,'protocol':'ICMP'}]"), DIAG_VALUE,
	  C0 "ports/0/protocol", "SCTP" },
	{ C("'ports':[{'containerPort':1,'name':'80'}]"), DIAG_VALUE, C0 "ports/0/name",
	  "port name" },
	{ C("'ports':[{'containerPort':1,'name':'a--b'}]"), DIAG_VALUE, C0 "ports/0/name",
	  "port name" },
	{ C("'ports':[{'containerPort':1,'name':'a'},{'containerPort':2,'name':'a'}]"),
	  DIAG_DUPLICATE, C0 "ports/1/name", "duplicate port name" },
	{ C("'ports':[{'containerPort':1,'hostPort':5},"
	    "{'containerPort':2,'hostPort':5}]"),
	  DIAG_DUPLICATE, C0 "ports/1/hostPort", "5/TCP" },
	{ C("'ports':[{'containerPort':1,'hostPort':5,'hostIP':'0.0.0.0'},"
	    "{'containerPort':2,'hostPort':5,'hostIP':'::'}]"),
	  DIAG_DUPLICATE, C0 "ports/1/hostPort", "this container's" },
	{ HEAD META "'spec':{'containers':[{'name':'a','image':'i','ports':["
		    "{'containerPort':1,'hostPort':5,'protocol':'UDP'}]},"
		    "{'name':'b','image':'i','ports':["
		    "{'containerPort':1,'hostPort':5,'protocol':'UDP'}]}]}}",
	  DIAG_DUPLICATE, "/spec/containers/1/ports/0/hostPort", "container a's" },
	{ C("'ports':[{'containerPort':1,'hostIP':'x'}]"), DIAG_VALUE,
	  C0 "ports/0/hostIP", "IP address" },
	{ HEAD META "'spec':{'hostNetwork':true,'containers':[{'name':'c','image':'i',"
		    "'ports':[{'containerPort':1,'hostPort':2}]}]}}",
	  DIAG_VALUE, C0 "ports/0/hostPort", "hostPort 2 must match containerPort 1" },
	{ C("'livenessProbe':{}"), DIAG_UNSUPPORTED, C0 "livenessProbe",
	  "livenessProbe" },
	{ C("'lifecycle':{'preStop':{}}"), DIAG_UNSUPPORTED, C0 "lifecycle",
	  "lifecycle" },
	{ I("'readinessProbe':{}"), DIAG_VALUE, "/spec/initContainers/0/readinessProbe",
	  "not allowed in an init container" },
	{ I("'lifecycle':{'preStop':{}}"), DIAG_VALUE, "/spec/initContainers/0/lifecycle",
	  "not allowed in an init container" },
	{ I("'restartPolicy':'Always'"), DIAG_UNSUPPORTED,
	  "/spec/initContainers/0/restartPolicy", "yet" },
	{ C("'terminationMessagePath':'/x'"), DIAG_UNSUPPORTED,
	  C0 "terminationMessagePath", "\"/x\"" },
	{ C("'terminationMessagePolicy':'FallbackToLogsOnError'"), DIAG_UNSUPPORTED,
	  C0 "terminationMessagePolicy", "Fallback" },
	{ C("'tty':1"), DIAG_TYPE, C0 "tty", "a boolean, not a number" },
	{ SEC("'runAsUser':4294967296"), DIAG_VALUE, C0 "securityContext/runAsUser",
	  "between" },
	{ SEC("'privileged':true,'allowPrivilegeEscalation':false"), DIAG_VALUE,
	  C0 "securityContext/allowPrivilegeEscalation", "privileged" },
	{ SEC("'capabilities':{'add':['NET_ADMN']}"), DIAG_VALUE,
	  C0 "securityContext/capabilities/add/0", "mean \"NET_ADMIN\"?" },
	{ SEC("'capabilities':{'drop':['KILL','what-is-this']}"), DIAG_VALUE,
	  C0 "securityContext/capabilities/drop/1", "unknown capability" },
	{ SEC("'capabilities':{'add':[1]}"), DIAG_TYPE,
	  C0 "securityContext/capabilities/add/0", "a string" },
	{ SEC("'capabilities':{'adds':[]}"), DIAG_UNKNOWN,
	  C0 "securityContext/capabilities/adds", "\"add\"?" },
	{ SEC("'allowPrivilegeEscalation':false,'capabilities':{'add':['CAP_SYS_ADMIN']"
	      "}"),
	  DIAG_VALUE, C0 "securityContext/allowPrivilegeEscalation", "CAP_SYS_ADMIN" },
	{ SEC("'readOnlyRootFilesystem':1"), DIAG_TYPE,
	  C0 "securityContext/readOnlyRootFilesystem", "a boolean" },
	{ SEC("'procMount':'Unmasked'"), DIAG_UNSUPPORTED, C0 "securityContext/procMount",
	  "Unmasked" },
	{ SEC("'seccompProfile':{'type':'Unconfined'}"), DIAG_UNSUPPORTED,
	  C0 "securityContext/seccompProfile", "yet" },
	{ SEC("'appArmorProfile':{'type':'Localhost'}"), DIAG_UNSUPPORTED,
	  C0 "securityContext/appArmorProfile/type", "Localhost" },
};

static void to_json(char *to, size_t size, const char *text)
{
	size_t i, n = strlen(text);

	assert_true(n < size);
	for (i = 0; i <= n; i++)
		to[i] = text[i] == '\'' ? '"' : text[i];
}

/* Every wrong row is shown, not only the first. */
static bool row_holds(const struct row *row)
{
	struct manifest m = { .n_pods = 0 };
	bool accepted = false;
	char json[2048];
	struct diag d;
	size_t i;

	to_json(json, sizeof(json), row->json);
	diag_init(&d, "t.json");
	if (manifest_parse(json, strlen(json), &d, &m) == 0) {
		for (i = 0; i < m.n_pods; i++)
			accepted |= m.pods[i].spec || m.pods[i].id.n_diag != d.n;
		manifest_free(&m);
	}
	if (!accepted && d.errors == 1 && d.n == 1 && d.items[0].kind == row->kind &&
	    strcmp(d.items[0].pointer, row->pointer) == 0 &&
	    strstr(d.items[0].text, row->text) && d.items[0].line > 0)
		return true;
	print_error("%s: %zu errors, the first %s at \"%s\": %s (line %d)\n", json,
		    d.errors, d.n ? diag_kind_name(d.items[0].kind) : "-",
		    d.items[0].pointer, d.items[0].text, d.items[0].line);
	return false;
}

static void test_rows(void **state)
{
	size_t i, wrong = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		wrong += !row_holds(&rows[i]);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
