import type { Container, PodSpec } from '../../../src/api/types.ts';
import { makePod, serve, shell } from '../manifests.ts';
import { namedUserImage, numericUserImage } from './fact-images.ts';
import type { FactMachine } from './fact-machine.ts';

/** A pod with one container that the node or its runtime does not start. */
interface RefusedPod {
  readonly pod: object;
  /** Why it waits, and the part of the message that has only one possible wording. */
  readonly reason: string;
  readonly message: string;
}

const alone = (name: string, container: Partial<Container>, spec: Partial<PodSpec> = {}): object =>
  makePod(name, { ...spec, containers: [shell('app', serve, container)] });

const nonRoot = { runAsNonRoot: true };
const mayNotBeRoot = 'Container "app" may not run as root (runAsNonRoot), but';

/** By the name of the pod. */
export function refusedPods({ rootDir }: FactMachine): Readonly<Record<string, RefusedPod>> {
  const configError = (pod: object, message: string): RefusedPod => ({
    pod,
    reason: 'CreateContainerConfigError',
    message,
  });
  return {
    'root-image': configError(
      alone('root-image', { securityContext: nonRoot }),
      `${mayNotBeRoot} its image runs as root`,
    ),
    'named-user': configError(
      alone('named-user', { image: namedUserImage, securityContext: nonRoot }),
      `${mayNotBeRoot} its image sets the user "web", which may be root`,
    ),
    'root-user': configError(
      alone('root-user', { image: numericUserImage, securityContext: { runAsUser: 0 } }, { securityContext: nonRoot }),
      `${mayNotBeRoot} its runAsUser is 0`,
    ),
    'no-config': configError(
      alone('no-config', { envFrom: [{ configMapRef: { name: 'nobody-declares-it' } }] }),
      'configmap "nobody-declares-it" not found',
    ),
    'no-profile': {
      pod: alone('no-profile', {
        securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'missing.json' } },
      }),
      reason: 'CreateContainerError',
      message: `cannot load seccomp profile "${rootDir}/seccomp/missing.json"`,
    },
  };
}
