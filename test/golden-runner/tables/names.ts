import {
  checkAnnotationKey,
  checkConfigMapKey,
  checkDNS1035Label,
  checkDNS1123Label,
  checkDNS1123Subdomain,
  checkHTTPHeaderName,
  checkID,
  checkLabelValue,
  checkPortName,
  checkPortNumber,
  checkQualifiedName,
  checkRelaxedEnvVarName,
  checkSearchDomain,
  checkStrictIP,
  checkSysctlName,
  type NameCheck,
} from '../../../src/api/values/names.ts';
import { tableAdapter } from '../table-adapter.ts';

const checks: Readonly<Record<string, NameCheck>> = {
  annotationKey: checkAnnotationKey,
  configMapKey: checkConfigMapKey,
  dns1035Label: checkDNS1035Label,
  dns1123Label: checkDNS1123Label,
  dns1123Subdomain: checkDNS1123Subdomain,
  dnsSearch: checkSearchDomain,
  envVarName: checkRelaxedEnvVarName,
  hostAliasHostname: checkDNS1123Subdomain,
  httpHeaderName: checkHTTPHeaderName,
  ip: checkStrictIP,
  labelKey: checkQualifiedName,
  labelValue: checkLabelValue,
  portName: checkPortName,
  portNumber: (value) => checkPortNumber(Number(value)),
  sysctlName: checkSysctlName,
  uid: (value) => checkID(Number(value)),
};

export const names = tableAdapter<{ kind: string; value: string }>('names', ({ kind, value }) => {
  const check = checks[kind];
  if (!check) throw new Error(`There is no check for a ${kind}`);
  return { valid: check(value) === undefined };
});
