import type { Container, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import type { ContainerConfig } from '../../../cri/types.ts';
import { UserError } from '../../../errors.ts';

type ContainerSecurityContext = NonNullable<NonNullable<ContainerConfig['linux']>['securityContext']>;
interface AppArmorProfile {
  type: string;
  localhostProfile?: string;
}

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const localhostPrefix = 'localhost/';

/**
 * The container's AppArmor profile in both CRI fields. Returns {} if it has none. kubelet: kuberuntime/helpers.go
 * getAppArmorProfile
 */
export function appArmorProfile(
  pod: Pod,
  container: Container,
): Pick<ContainerSecurityContext, 'apparmor' | 'apparmorProfile'> {
  const profile = effectiveProfile(pod, container);
  if (!profile) return {};
  switch (profile.type) {
    case 'RuntimeDefault':
      return { apparmor: { profileType: 'RuntimeDefault' }, apparmorProfile: 'runtime/default' };
    case 'Unconfined':
      return { apparmor: { profileType: 'Unconfined' }, apparmorProfile: 'unconfined' };
    case 'Localhost':
      return localhost(profile.localhostProfile, container);
    default:
      throw new UserError(`Container "${container.name}": unknown appArmorProfile type "${profile.type}"`, {
        hint: 'Use RuntimeDefault, Localhost or Unconfined.',
      });
  }
}

/** True if a container of the pod has a confining profile. kubelet: pkg/security/apparmor isRequired */
export function requiresAppArmor(pod: Pod): boolean {
  const profiles = initAndRegularContainers(pod.spec).map((container) => effectiveProfile(pod, container));
  return profiles.some((profile) => profile !== undefined && profile.type !== 'Unconfined');
}

/**
 * The container's field, or else its old annotation, or else the pod's field. Static pods keep the annotation, because
 * no API server converts it. kubelet: pkg/security/apparmor GetProfile
 */
function effectiveProfile({ metadata, spec }: Pod, container: Container): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    annotatedProfile(metadata.annotations?.[annotationPrefix + container.name]) ??
    spec.securityContext?.appArmorProfile
  );
}

/** Returns undefined for an unknown value. */
function annotatedProfile(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  return value?.startsWith(localhostPrefix)
    ? { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) }
    : undefined;
}

function localhost(name: string | undefined, container: Container): ReturnType<typeof appArmorProfile> {
  if (name === undefined) {
    throw new UserError(`Container "${container.name}": an appArmorProfile of type Localhost needs localhostProfile`, {
      hint: 'Set localhostProfile to a profile that is loaded on the node.',
    });
  }
  return { apparmor: { profileType: 'Localhost', localhostRef: name }, apparmorProfile: localhostPrefix + name };
}
