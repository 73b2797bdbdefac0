import { normalizeSysctlName, sysctlNamespace } from '../../../src/api/values/sysctl-names.ts';
import { checkSysctlName } from '../../../src/api/values/names.ts';
import {
  forbiddenSysctl,
  type SysctlAllowlist,
  sysctlAllowlist,
} from '../../../src/engine/lifecycle/sysctl-allowlist.ts';
import { UserError } from '../../../src/errors.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  name: string;
  allowedUnsafe?: string[];
  hostNetwork?: boolean;
  hostIPC?: boolean;
}

export const sysctl = tableAdapter<In>('sysctl', ({ name, allowedUnsafe = [], ...host }) => {
  const normalized = normalizeSysctlName(name);
  const known = {
    namespace: sysctlNamespace(normalized) ?? '',
    normalized,
    validName: checkSysctlName(name) === undefined,
  };
  const allowlist = allowlistOf(allowedUnsafe);
  if (allowlist === undefined) return { allowlistError: true, ...known };
  const spec = { containers: [], securityContext: { sysctls: [{ name, value: '1' }] }, ...host };
  const admitted = forbiddenSysctl(spec, allowlist) === undefined;
  return { admitted, reason: admitted ? '' : 'SysctlForbidden', ...known };
});

function allowlistOf(patterns: readonly string[]): SysctlAllowlist | undefined {
  try {
    return sysctlAllowlist('6.0', patterns);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
