import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Container, PodSpec, Volume } from '../../src/api/types.ts';

export const busybox = 'localhost/busybox:1';

/** A pod manifest on the host network, which needs no CNI, that ends quickly. */
export function makePod(
  name: string,
  {
    namespace,
    labels,
    annotations,
    ...spec
  }: Omit<PodSpec, 'containers'> & {
    containers: Container[];
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  },
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, annotations },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 1, ...spec },
  };
}

/** A container that runs a shell script. */
export function shell(name: string, script: string, more: Partial<Container> = {}): Container {
  return { name, image: busybox, command: ['sh', '-c', script], ...more };
}

/** Goes on at the end of a script until it is told to stop, and stops at once then. */
export const serve = 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done';

/** Declares on purpose that nothing runs, so that a start stops every pod. */
export const nothing = { apiVersion: 'v1', kind: 'List', items: [] };

/** A folder of this machine as a volume, made when it is absent. */
export function hostFolder(name: string, path: string): Volume {
  return { name, hostPath: { path, type: 'DirectoryOrCreate' } };
}

export interface NotingPod {
  dependsOn?: string;
  priority?: number;
}

/**
 * A pod that writes its name into the file `log` of a folder of the host when it is told to stop. It is Ready once it
 * would.
 */
export function notingPod(folder: string, name: string, { dependsOn, priority }: NotingPod = {}): object {
  const script = `trap "echo ${name} >> /notes/log; exit 0" TERM; touch /tmp/ready; while :; do sleep 3600 & wait; done`;
  return makePod(name, {
    terminationGracePeriodSeconds: 30,
    ...(dependsOn !== undefined && { annotations: { [dependsOnAnnotation]: dependsOn } }),
    ...(priority !== undefined && { priority }),
    volumes: [hostFolder('notes', folder)],
    containers: [
      shell(name, script, {
        readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
        volumeMounts: [{ name: 'notes', mountPath: '/notes' }],
      }),
    ],
  });
}
