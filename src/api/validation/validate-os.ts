import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { eachContainer } from '../values/containers.ts';

/**
 * Validates spec.os and the fields that the named system forbids. kubelet: validation.go validateOS, validateLinux,
 * validateWindows
 */
export function validateOS(errors: FieldErrors, spec: core.PodSpec): void {
  validateHostProcess(errors, spec);
  if (!spec.os) return;
  if (spec.os.name === '') {
    errors.required('spec.os.name', 'must not be empty');
  } else if (spec.os.name === 'linux') {
    forbidFields(errors, spec, ['windowsOptions'], ['windowsOptions'], 'cannot be set for a linux pod');
  } else if (spec.os.name === 'windows') {
    forbidFields(errors, spec, linuxPodFields, linuxContainerFields, 'cannot be set for a windows pod');
    for (const name of ['hostUsers', 'shareProcessNamespace'] as const) {
      if (spec[name] !== undefined) errors.forbidden(`spec.${name}`, 'cannot be set for a windows pod');
    }
    for (const name of ['hostPID', 'hostIPC'] as const) {
      if (spec[name]) errors.forbidden(`spec.${name}`, 'cannot be set for a windows pod');
    }
  } else {
    errors.unsupportedUnless('spec.os', spec.os.name, ['linux', 'windows']);
  }
}

const linuxPodFields = [
  'appArmorProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'runAsGroup',
  'runAsUser',
  'seLinuxChangePolicy',
  'seLinuxOptions',
  'seccompProfile',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'sysctls',
] as const;
const linuxContainerFields = [
  'allowPrivilegeEscalation',
  'appArmorProfile',
  'capabilities',
  'privileged',
  'procMount',
  'readOnlyRootFilesystem',
  'runAsGroup',
  'runAsUser',
  'seLinuxOptions',
  'seccompProfile',
] as const;

function forbidFields(
  errors: FieldErrors,
  spec: core.PodSpec,
  podFields: readonly (keyof core.PodSecurityContext)[],
  containerFields: readonly (keyof core.SecurityContext)[],
  message: string,
): void {
  for (const name of podFields) {
    if (spec.securityContext?.[name] !== undefined) errors.forbidden(`spec.securityContext.${name}`, message);
  }
  for (const { container, field } of eachContainer(spec)) {
    for (const name of containerFields) {
      if (container.securityContext?.[name] !== undefined) {
        errors.forbidden(`${field}.securityContext.${name}`, message);
      }
    }
  }
}

/** Windows host processes: all containers or none, on the host's network. */
function validateHostProcess(errors: FieldErrors, spec: core.PodSpec): void {
  const podValue = spec.securityContext?.windowsOptions?.hostProcess;
  let hostProcesses = 0;
  let containers = 0;
  for (const { container, field } of eachContainer(spec)) {
    const value = container.securityContext?.windowsOptions?.hostProcess;
    containers++;
    if (podValue !== undefined && value !== undefined && value !== podValue) {
      errors.invalid(
        `${field}.securityContext.windowsOptions.hostProcess`,
        value,
        'must be the same as that of the pod',
      );
    }
    if (value ?? podValue ?? false) hostProcesses++;
  }
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers) errors.invalid('spec', '', 'all containers must be host processes when one is');
  if (!spec.hostNetwork) errors.invalid('spec.hostNetwork', false, 'must be true for host processes');
}
