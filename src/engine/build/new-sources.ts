import type { Pod } from '../../api/types.ts';
import { ConfigObjects } from '../config-objects/config-objects.ts';
import { ConfigReader } from '../config/config-reader.ts';
import { Housekeeping } from '../sync-loop/housekeeping.ts';
import { identifyPod, type KnownPod } from '../in-place/identify-pod.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { WorkQueue } from '../pod-workers/work-queue.ts';

export type Sources = ReturnType<typeof newSources>;

interface Engine extends Required<
  Pick<ConstructorParameters<typeof ConfigReader>[0], 'revisionToRun' | 'decideWorkloads'>
> {
  knownRevisions: (pod: Pod, previous: Pod | undefined) => KnownPod[];
}

/** Creates the components that put manifests and times into the queue of the sync loop. */
export function newSources(base: KubeletBase, { revisionToRun, decideWorkloads, knownRevisions }: Engine) {
  const { clock, emit, events, faults, inputs, node, secrets, wallClock } = base;
  const configObjects = new ConfigObjects();
  configObjects.replace('<configuration>', node.runtimeClasses);
  const config = new ConfigReader({
    sources: base.sources,
    configObjects,
    secrets,
    featureGates: node.featureGates,
    faults,
    clock,
    emit,
    revisionToRun,
    decideWorkloads,
    identify: (pod, previous) => identifyPod(pod, knownRevisions(pod, previous), node.inPlace),
    onUpdate: (update) => {
      inputs.push({ type: 'config', update });
    },
    onConfigObjectsChanged: (keys) => {
      inputs.push({ type: 'configObjects', keys });
    },
  });
  const workQueue = new WorkQueue({
    clock,
    onDue: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
  });
  const housekeeping = new Housekeeping({
    clock,
    events,
    onPeriod: () => {
      wallClock.observe();
    },
    onDue: () => {
      inputs.push({ type: 'housekeeping' });
    },
  });
  return { configObjects, config, workQueue, housekeeping };
}
