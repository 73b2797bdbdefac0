import { dependsOnAnnotation } from '../../src/api/values/depends-on.ts';
import type { Container, PodSpec, Volume } from '../../src/api/types.ts';

export const busybox = 'localhost/busybox:1';

/** A pod manifest that uses the host network, so that it needs no CNI, and that exits quickly. */
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

/** At the end of a script, keeps running until it is asked to stop, and then exits at once. */
export const serve = 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done';

/** Explicitly declares that nothing runs, so that an agent that starts with it stops every pod. */
export const nothing = { apiVersion: 'v1', kind: 'List', items: [] };

/** A hostPath volume for a folder that is created if it is missing. */
export function hostFolder(name: string, path: string): Volume {
  return { name, hostPath: { path, type: 'DirectoryOrCreate' } };
}

export interface NotingPod {
  dependsOn?: string;
  priority?: number;
}

/**
 * A pod that appends its name to the file `log` in a folder of the host when it is asked to stop. It becomes Ready once
 * it would do so.
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
