import { describe, expect, it } from 'vitest';
import type { Container, PodSpec } from '../../../../src/api/types.ts';
import {
  containerSecurityContext,
  type ImageUser,
  type PodSecurity,
  sandboxSecurityContext,
  type SecurityNode,
  verifyRunAsNonRoot,
} from '../../../../src/engine/kuberuntime/request/security-context.ts';
import { UserError } from '../../../../src/errors.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const node: SecurityNode = { seccompProfileRoot: '/var/lib/kubelet/seccomp', seccompDefault: false };

interface Context {
  pod?: PodSpec['securityContext'];
  container?: Container['securityContext'];
}

function podOf({ pod = {}, container = {} }: Context) {
  const web = makeContainer({ securityContext: container });
  return { pod: makePod({ spec: { securityContext: pod, containers: [web] } }), container: web };
}

function contextOf(context: Context, imageUser: ImageUser = {}, security: PodSecurity = {}) {
  const { pod, container } = podOf(context);
  return containerSecurityContext(pod, container, imageUser, node, security);
}

describe('the user of a container', () => {
  it.each<[string, Context, ImageUser, object]>([
    ['the spec', { pod: { runAsUser: 7 } }, { uid: 33 }, { runAsUser: { value: 7 } }],
    [
      'the container before the pod',
      { pod: { runAsUser: 7 }, container: { runAsUser: 8 } },
      {},
      { runAsUser: { value: 8 } },
    ],
    ['the number in the image', {}, { uid: 33n }, { runAsUser: { value: 33n } }],
    ['the name in the image', {}, { username: 'app' }, { runAsUsername: 'app' }],
    ['root if the image names none', {}, {}, { runAsUser: { value: 0 } }],
  ])('comes from %s', (_from, context, imageUser, user) => {
    const { runAsUser, runAsUsername } = contextOf(context, imageUser);
    expect({ ...(runAsUser && { runAsUser }), ...(runAsUsername && { runAsUsername }) }).toEqual(user);
  });
});

describe('verifyRunAsNonRoot', () => {
  it.each<[string, Context, ImageUser]>([
    ['its runAsUser is 0', { pod: { runAsNonRoot: true }, container: { runAsUser: 0 } }, { uid: 33 }],
    ['its image runs as root', { pod: { runAsNonRoot: true } }, { uid: 0 }],
    ['its image runs as root', { pod: { runAsNonRoot: true } }, {}],
    ['its image sets the user "app"', { container: { runAsNonRoot: true } }, { username: 'app' }],
  ])('refuses a container because %s', (problem, context, imageUser) => {
    const { pod, container } = podOf(context);
    expect(() => {
      verifyRunAsNonRoot(pod, container, imageUser);
    }).toThrow(problem);
  });

  it.each<[string, Context, ImageUser]>([
    ['nothing forbids root', {}, { uid: 0 }],
    [
      'the container lifts what the pod forbids',
      { pod: { runAsNonRoot: true }, container: { runAsNonRoot: false } },
      {},
    ],
    ['the spec names an unprivileged user', { pod: { runAsNonRoot: true, runAsUser: 7 } }, { username: 'app' }],
    ['the image names one by number', { pod: { runAsNonRoot: true } }, { uid: 33 }],
  ])('lets a container be if %s', (_case, context, imageUser) => {
    const { pod, container } = podOf(context);
    expect(() => {
      verifyRunAsNonRoot(pod, container, imageUser);
    }).not.toThrow();
  });
});

describe('profiles', () => {
  it('takes the seccomp profile of the container, then of the pod, then the default', () => {
    const localhost = { type: 'Localhost', localhostProfile: 'profiles/a.json' };
    expect(
      contextOf({ pod: { seccompProfile: { type: 'RuntimeDefault' } }, container: { seccompProfile: localhost } })
        .seccomp,
    ).toEqual({ profileType: 'Localhost', localhostRef: '/var/lib/kubelet/seccomp/profiles/a.json' });
    expect(contextOf({ pod: { seccompProfile: { type: 'RuntimeDefault' } } }).seccomp).toEqual({
      profileType: 'RuntimeDefault',
    });
    expect(contextOf({}).seccomp).toEqual({ profileType: 'Unconfined' });
  });

  it('refuses a Localhost profile with an empty name', () => {
    const seccompProfile = { type: 'Localhost', localhostProfile: '' };
    expect(() => contextOf({ container: { seccompProfile } })).toThrow('needs localhostProfile');
  });

  it('refuses a Localhost profile without a name', () => {
    expect(() => contextOf({ container: { seccompProfile: { type: 'Localhost' } } })).toThrow('needs localhostProfile');
    expect(() => contextOf({ container: { appArmorProfile: { type: 'Localhost' } } })).toThrow(
      'needs localhostProfile',
    );
  });

  it.each([
    ['runtime/default', { apparmor: { profileType: 'RuntimeDefault' }, apparmorProfile: 'runtime/default' }],
    ['unconfined', { apparmor: { profileType: 'Unconfined' }, apparmorProfile: 'unconfined' }],
    [
      'localhost/mine',
      { apparmor: { profileType: 'Localhost', localhostRef: 'mine' }, apparmorProfile: 'localhost/mine' },
    ],
    ['something else', {}],
  ])('reads the old AppArmor annotation "%s"', (value, profile) => {
    const { pod, container } = podOf({});
    pod.metadata.annotations = { 'container.apparmor.security.beta.kubernetes.io/web': value };
    const { apparmor, apparmorProfile } = containerSecurityContext(pod, container, {}, node, {});
    expect({ ...(apparmor && { apparmor }), ...(apparmorProfile && { apparmorProfile }) }).toEqual(profile);
  });
});

describe('groups and paths', () => {
  it('orders supplemental groups as the kubelet does, differently for sandbox and container', () => {
    const context = { pod: { fsGroup: 1, supplementalGroups: [2, 3], supplementalGroupsPolicy: 'Strict' } };
    const security = { volumeGroups: [9] };
    expect(sandboxSecurityContext(podOf(context).pod, security)).toMatchObject({
      supplementalGroups: [1, 9, 2, 3],
      supplementalGroupsPolicy: 'Strict',
    });
    expect(contextOf(context, {}, security)).toMatchObject({
      supplementalGroups: [1, 2, 3, 9],
      supplementalGroupsPolicy: 'Strict',
    });
  });

  it.each(['', 'merge', 'Relaxed'])('refuses the policy "%s" for supplemental groups', (policy) => {
    const context = { pod: { supplementalGroupsPolicy: policy } };
    const hint = 'Set securityContext.supplementalGroupsPolicy of the pod to Merge or Strict, or remove it.';
    const error = new UserError(`unsupported supplementalGroupsPolicy: ${policy}`, { hint });
    expect(() => sandboxSecurityContext(podOf(context).pod, {})).toThrow(error);
    expect(() => contextOf(context)).toThrow(error);
  });

  it('hides nothing from a container with an unmasked /proc', () => {
    const { maskedPaths, readonlyPaths } = contextOf({ container: { procMount: 'Unmasked' } });
    expect({ maskedPaths, readonlyPaths }).toEqual({ maskedPaths: [], readonlyPaths: [] });
  });

  it('makes a sandbox privileged for any privileged container, init containers included', () => {
    const pod = makePod({
      spec: { initContainers: [makeContainer({ name: 'setup', securityContext: { privileged: true } })] },
    });
    expect(sandboxSecurityContext(pod, {}).privileged).toBe(true);
    expect(sandboxSecurityContext(makePod(), {}).privileged).toBe(false);
  });
});

describe('namespaces', () => {
  it('shares with the node what the pod asks for', () => {
    const pod = makePod({ spec: { hostNetwork: true, hostPID: true, hostIPC: true } });
    expect(sandboxSecurityContext(pod, {}).namespaceOptions).toEqual({ network: 'NODE', pid: 'NODE', ipc: 'NODE' });
  });

  it('refuses hostUsers while user namespaces are off, and sends the allotted one otherwise', () => {
    const pod = makePod({ spec: { hostUsers: false } });
    const ids = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
    const userNamespace = { mode: 'POD', uids: ids, gids: ids } as const;
    expect(() => sandboxSecurityContext(pod, {})).toThrow('spec.hostUsers');
    expect(
      sandboxSecurityContext(pod, { userNamespace: { ...userNamespace, uids: [...ids], gids: [...ids] } })
        .namespaceOptions,
    ).toEqual({ network: 'POD', pid: 'CONTAINER', ipc: 'POD', usernsOptions: { mode: 'POD', uids: ids, gids: ids } });
  });
});
