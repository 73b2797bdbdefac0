import type * as core from 'kubernetes-types/core/v1.js';
import type { Pod } from '../types.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { byteLength, checkDNS1123Subdomain, checkID, checkSysctlName } from '../values/names.ts';
import { eachContainer } from '../values/containers.ts';
import { normalizeSysctlName, sysctlNamespace } from '../values/sysctl-names.ts';
import { validateDescendingPath } from './paths.ts';

const podField = 'spec.securityContext';

/** Security context of the pod. kubelet: validation.go validatePodSpecSecurityContext */
export function validatePodSecurity(errors: FieldErrors, spec: core.PodSpec): void {
  const context = spec.securityContext ?? {};
  for (const name of ['fsGroup', 'runAsUser', 'runAsGroup'] as const) {
    const id = context[name];
    if (id !== undefined) errors.invalidIf(`${podField}.${name}`, id, checkID(id));
  }
  for (const [index, id] of (context.supplementalGroups ?? []).entries()) {
    errors.invalidIf(`${podField}.supplementalGroups[${index}]`, id, checkID(id));
  }
  // The error path has `securityContext` because Go's internal type keeps the field there.
  if (spec.shareProcessNamespace && spec.hostPID) {
    errors.invalid(`${podField}.shareProcessNamespace`, true, 'cannot be combined with hostPID');
  }
  validateSysctls(errors, spec, context.sysctls ?? []);
  for (const [name, allowed] of Object.entries(policies) as [keyof typeof policies, readonly string[]][]) {
    const policy = context[name];
    if (policy !== undefined) errors.unsupportedUnless(`${podField}.${name}`, policy, allowed);
  }
  validateSeccomp(errors, `${podField}.seccompProfile`, context.seccompProfile);
  validateAppArmor(errors, `${podField}.appArmorProfile`, context.appArmorProfile);
  validateWindowsOptions(errors, `${podField}.windowsOptions`, context.windowsOptions);
  validateHostUsers(errors, spec);
}

const policies = {
  fsGroupChangePolicy: ['Always', 'OnRootMismatch'],
  supplementalGroupsPolicy: ['Merge', 'Strict'],
  // MountOption needs the gate SELinuxMount, which is off.
  seLinuxChangePolicy: ['Recursive'],
} as const;

/** Security context of a container. kubelet: validation.go ValidateSecurityContext */
export function validateContainerSecurity(
  errors: FieldErrors,
  field: string,
  context: core.SecurityContext | undefined,
  hostUsers: boolean,
): void {
  if (!context) return;
  for (const name of ['runAsUser', 'runAsGroup'] as const) {
    const id = context[name];
    if (id !== undefined) errors.invalidIf(`${field}.${name}`, id, checkID(id));
  }
  if (context.procMount !== undefined) {
    errors.unsupportedUnless(`${field}.procMount`, context.procMount, ['Default', 'Unmasked']);
    if (hostUsers && context.procMount === 'Unmasked') {
      errors.invalid(`${field}.procMount`, context.procMount, 'needs hostUsers false');
    }
  }
  validateSeccomp(errors, `${field}.seccompProfile`, context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged)
      errors.invalid(field, 'privileged', 'cannot be combined with allowPrivilegeEscalation false');
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
      errors.invalid(field, 'CAP_SYS_ADMIN', 'cannot be combined with allowPrivilegeEscalation false');
    }
  }
  validateWindowsOptions(errors, `${field}.windowsOptions`, context.windowsOptions);
  validateAppArmor(errors, `${field}.appArmorProfile`, context.appArmorProfile);
}

/** Checks that Seccomp and AppArmor profiles agree if set both as a field and as an annotation. */
export function validateProfileAnnotations(errors: FieldErrors, pod: Pod): void {
  const annotations = pod.metadata.annotations ?? {};
  const podContext = pod.spec.securityContext;
  validateSameProfile(
    errors,
    `${podField}.seccompProfile`,
    annotations['seccomp.security.alpha.kubernetes.io/pod'],
    podContext?.seccompProfile,
  );
  const isWindows = pod.spec.os?.name === 'windows';
  for (const { container, field } of eachContainer(pod.spec)) {
    validateSameProfile(
      errors,
      `${field}.securityContext.seccompProfile`,
      annotations[`container.seccomp.security.alpha.kubernetes.io/${container.name}`],
      container.securityContext?.seccompProfile,
    );
    if (isWindows) continue;
    validateSameProfile(
      errors,
      `${field}.securityContext.appArmorProfile`,
      annotations[`container.apparmor.security.beta.kubernetes.io/${container.name}`],
      container.securityContext?.appArmorProfile ?? podContext?.appArmorProfile,
    );
  }
}

interface Profile {
  type: string;
  localhostProfile?: string;
}

function validateSameProfile(
  errors: FieldErrors,
  field: string,
  annotation: string | undefined,
  profile: Profile | undefined,
): void {
  if (annotation === undefined || !profile) return;
  const isSameType =
    (profile.type === 'Unconfined' && annotation === 'unconfined') ||
    (profile.type === 'RuntimeDefault' && isRuntimeDefault(annotation, field)) ||
    (profile.type === 'Localhost' && annotation.startsWith('localhost/'));
  if (!isSameType && profileTypes.includes(profile.type)) {
    errors.forbidden(`${field}.type`, 'must match the annotation');
  } else if (profile.type === 'Localhost' && annotation !== `localhost/${profile.localhostProfile ?? ''}`) {
    errors.forbidden(`${field}.localhostProfile`, 'must match the annotation');
  }
}

function isRuntimeDefault(annotation: string, field: string): boolean {
  return annotation === 'runtime/default' || (annotation === 'docker/default' && field.endsWith('.seccompProfile'));
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function validateSeccomp(errors: FieldErrors, field: string, profile: core.SeccompProfile | undefined): void {
  if (!profile) return;
  errors.requiredOneOf(`${field}.type`, profile.type, profileTypes);
  const { localhostProfile } = profile;
  if (profile.type === 'Localhost') {
    if (localhostProfile === undefined) errors.required(`${field}.localhostProfile`, 'must be set for type Localhost');
    else validateDescendingPath(errors, `${field}.localhostProfile`, localhostProfile);
  } else if (localhostProfile !== undefined) {
    errors.invalid(`${field}.localhostProfile`, localhostProfile, 'can only be set for type Localhost');
  }
}

/** PATH_MAX - 1 */
const maxAppArmorProfileBytes = 4095;

function validateAppArmor(errors: FieldErrors, field: string, profile: core.AppArmorProfile | undefined): void {
  if (!profile) return;
  errors.requiredOneOf(`${field}.type`, profile.type, profileTypes);
  const path = `${field}.localhostProfile`;
  const { localhostProfile } = profile;
  if (profile.type === 'Localhost') {
    if (localhostProfile === undefined || localhostProfile === '') {
      errors.required(path, 'must be set for type Localhost');
      return;
    }
    if (localhostProfile.trim() !== localhostProfile) {
      errors.invalid(path, localhostProfile, 'must not start or end with white space');
    }
    if (byteLength(localhostProfile) > maxAppArmorProfileBytes) {
      errors.tooLong(path, `must be at most ${maxAppArmorProfileBytes} bytes`);
    }
  } else if (localhostProfile !== undefined && profileTypes.includes(profile.type)) {
    errors.invalid(path, localhostProfile, 'can only be set for type Localhost');
  }
}

function validateSysctls(errors: FieldErrors, spec: core.PodSpec, sysctls: readonly core.Sysctl[]): void {
  const seen = new Set<string>();
  for (const [index, { name }] of sysctls.entries()) {
    const field = `${podField}.sysctls[${index}].name`;
    const message = checkSysctlName(name);
    if (name === '') errors.required(field);
    else if (message !== undefined) errors.invalid(field, name, message);
    else if (seen.has(name)) errors.duplicate(field, name);
    seen.add(name);
    const namespace = sysctlNamespace(normalizeSysctlName(name));
    if (spec.hostNetwork && namespace === 'Net') errors.invalid(field, name, 'cannot be set when hostNetwork is true');
    if (spec.hostIPC && namespace === 'IPC') errors.invalid(field, name, 'cannot be set when hostIPC is true');
  }
}

function validateHostUsers(errors: FieldErrors, spec: core.PodSpec): void {
  if (spec.hostUsers !== false) return;
  const message = 'cannot be combined with hostUsers false';
  if (spec.hostNetwork) errors.forbidden('spec.hostNetwork', message);
  // These two paths have capital letters in the API server's errors as well.
  if (spec.hostPID) errors.forbidden('spec.HostPID', message);
  if (spec.hostIPC) errors.forbidden('spec.HostIPC', message);
  for (const { container, field } of eachContainer(spec)) {
    if (container.volumeDevices?.length) errors.forbidden(`${field}.volumeDevices`, message);
  }
}

const maxCredentialSpecBytes = 64 * 1024;

function validateWindowsOptions(
  errors: FieldErrors,
  field: string,
  options: core.WindowsSecurityContextOptions | undefined,
): void {
  if (!options) return;
  const { gmsaCredentialSpec, gmsaCredentialSpecName, runAsUserName } = options;
  if (gmsaCredentialSpecName !== undefined) {
    errors.invalidIf(
      `${field}.gmsaCredentialSpecName`,
      gmsaCredentialSpecName,
      checkDNS1123Subdomain(gmsaCredentialSpecName),
    );
  }
  if (gmsaCredentialSpec !== undefined) {
    const bytes = byteLength(gmsaCredentialSpec);
    if (bytes === 0 || bytes > maxCredentialSpecBytes) {
      errors.invalid(`${field}.gmsaCredentialSpec`, gmsaCredentialSpec, 'must be 1 byte to 64 KiB');
    }
  }
  if (runAsUserName !== undefined) {
    errors.invalidIf(`${field}.runAsUserName`, runAsUserName, checkWindowsUser(runAsUserName));
  }
}

/** `USER` or `DOMAIN\USER`. */
function checkWindowsUser(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters';
  const parts = name.split('\\');
  if (parts.length > 2) return 'must not contain more than one backslash';
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const user = parts.at(-1) ?? '';
  if (domain !== undefined && (byteLength(domain) > 255 || !isWindowsDomain(domain))) return 'has an invalid domain';
  if (user === '' || byteLength(user) > 104) return 'must have a user of 1 to 104 bytes';
  if (/^[. ]+$/.test(user)) return 'must not have a user of dots and spaces only';
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) return 'must not have a user with one of "/\\:;|=,+*?<>@[]';
  return undefined;
}

function isWindowsDomain(domain: string): boolean {
  const dnsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
  const isNetBIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/.test(domain);
  return isNetBIOS || new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`).test(domain);
}
