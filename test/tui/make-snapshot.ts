import type { ContainerState, ContainerStatus, Pod } from '../../src/api/types.ts';
import type { PodRef } from '../../src/api/values/pod-names.ts';
import type { KubeletEvent } from '../../src/engine/view/events.ts';
import type { EngineSnapshot, PodSnapshot, WorkerSnapshot } from '../../src/engine/view/snapshot.ts';

/** Noon where the test runs: the screen shows local times. */
export const noon = new Date(2025, 2, 1, 12, 0, 0).getTime();

const isoTime = (at: number) => new Date(at).toISOString();

/** A pod with one container; without `containerState` it runs and is ready since an hour. */
export function makeEntry(
  name: string,
  options: {
    namespace?: string;
    worker?: Partial<WorkerSnapshot>;
    containerState?: ContainerState;
    container?: Partial<ContainerStatus>;
  } = {},
): PodSnapshot {
  const ready = options.containerState === undefined;
  const container: ContainerStatus = {
    name: 'main',
    image: 'busybox:1.36',
    imageID: '',
    ready,
    restartCount: 0,
    state: options.containerState ?? { running: { startedAt: isoTime(noon - 3_600_000) } },
    ...options.container,
  };
  const pod: Pod = {
    metadata: { name, namespace: options.namespace ?? 'default', uid: `uid-${name}` },
    spec: { containers: [{ name: 'main', image: 'busybox:1.36' }] },
    status: {
      phase: 'Running',
      startTime: isoTime(noon - 3_600_000),
      podIP: '10.88.0.2',
      qosClass: 'BestEffort',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      containerStatuses: [container],
    },
  };
  const worker: WorkerSnapshot = {
    state: 'sync',
    working: false,
    pending: false,
    lastSyncAt: noon - 12_000,
    lastSyncMs: 34,
    nextSyncAt: noon + 50_000,
    ...options.worker,
  };
  return { pod, source: 'file', worker, events: [] };
}

/** A healthy node with these pods. */
export function makeSnapshot(pods: PodSnapshot[] = [], more: Partial<EngineSnapshot> = {}): EngineSnapshot {
  return {
    nodeName: 'edge1',
    startedAt: noon - 7_200_000,
    runtime: { endpoint: 'unix:///run/cri.sock', chosenBecause: 'it answers', name: 'containerd', version: '1.7.24' },
    pressures: [],
    pleg: { mode: 'evented', lastRelistAt: noon - 3000, lastRelistMs: 4 },
    faults: [],
    sources: [{ source: 'file', where: '/manifests', ready: true, pods: pods.length, problems: [] }],
    pods,
    ...more,
  };
}

export function refOf(name: string): PodRef {
  return { namespace: 'default', name, uid: `uid-${name}` };
}

/** The main container of `web` died. */
export function makeDied(exitCode: number, at = noon): KubeletEvent {
  return { at, type: 'ContainerDied', pod: refOf('web'), id: '0123456789abcdef0123', containerName: 'main', exitCode };
}

/** Something that happened to `web`, as `kubectl describe` lists it. */
export function makeRecorded(reason: string, message: string, at = noon): KubeletEvent {
  return { at, type: 'Recorded', eventType: 'Normal', reason, message, pod: refOf('web') };
}
