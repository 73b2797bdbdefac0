import { expect, test } from 'vitest';
import {
  checkAnnotationKey,
  checkConfigMapKey,
  checkDNS1035Label,
  checkDNS1123Label,
  checkDNS1123Subdomain,
  checkEnvVarName,
  checkHTTPHeaderName,
  checkID,
  checkIP,
  checkLabelValue,
  checkPortName,
  checkPortNumber,
  checkQualifiedName,
  checkSysctlName,
  type NameCheck,
} from '../../../src/api/validation/names.ts';
import { loadTable } from '../../golden-tables.ts';

const checks: Readonly<Record<string, NameCheck>> = {
  annotationKey: checkAnnotationKey,
  configMapKey: checkConfigMapKey,
  dns1035Label: checkDNS1035Label,
  dns1123Label: checkDNS1123Label,
  dns1123Subdomain: checkDNS1123Subdomain,
  envVarName: checkEnvVarName,
  hostAliasHostname: checkDNS1123Subdomain,
  httpHeaderName: checkHTTPHeaderName,
  ip: checkIP,
  labelKey: checkQualifiedName,
  labelValue: checkLabelValue,
  portName: checkPortName,
  portNumber: (value) => checkPortNumber(Number(value)),
  sysctlName: checkSysctlName,
  uid: (value) => checkID(Number(value)),
};

test.each(loadTable<{ kind: string; value: string }, { valid: boolean }>('names'))(
  'judges the $in.kind "$in.value" as the kubelet does',
  ({ in: { kind, value }, out }) => {
    expect({ valid: checks[kind]?.(value) === undefined }).toEqual(out);
  },
);
