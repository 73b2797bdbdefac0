import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { EphemeralContainers } from '../ephemeral-containers/ephemeral-containers.ts';
import { AppliedRevisions } from '../in-place/applied-revisions.ts';
import { EvictionRecords } from '../eviction/eviction-records.ts';
import { UndeclaredRecords } from '../gc/undeclared-records.ts';
import { historyFolder } from '../history/history-file.ts';
import { variableTexts } from '../history/hide-variables.ts';
import { PodHistories } from '../history/pod-histories.ts';
import { PodDirs } from '../host/pod-dirs.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { PodRecords } from '../operations/pod-records.ts';
import { PodManager } from '../pod-start/pod-manager.ts';
import { StatusManager } from '../status/status-manager.ts';
import { StatusRecords } from '../status/status-records.ts';
import { WorkloadRecords } from '../workloads/records/workload-records.ts';
import type { PodWorkerState } from '../view/pod-worker-state.ts';

export type PodState = ReturnType<typeof newPodState>;

interface Engine {
  isStopped: (pod: Pod) => boolean;
  workerState: (uid: string) => PodWorkerState;
}

/**
 * Creates the components that know pods and decide nothing: the declared pods, their statuses, their records on disk.
 */
export function newPodState(base: KubeletBase, engine: Engine) {
  const { clock, emit, events, inputs, logger, meter, node, redactor } = base;
  const podManager = new PodManager();
  const podDirs = new PodDirs(node);
  const podDir = (uid: string): string => podDirs.podDir(uid);
  const statusRecords = new StatusRecords({ podDir, clock, logger: logger.child({ component: 'status' }) });
  const statusManager = new StatusManager({
    emit,
    redactor,
    onStartOver: (uid) => {
      statusRecords.startOver(uid);
    },
  });
  const appliedRevisions = new AppliedRevisions({
    podDir,
    policy: node.inPlace,
    meter,
    logger: logger.child({ component: 'in-place' }),
  });
  const evictionRecords = new EvictionRecords({ podDir, logger: logger.child({ component: 'eviction' }) });
  const undeclaredRecords = new UndeclaredRecords({ podDir, logger: logger.child({ component: 'gc' }) });
  const records = new PodRecords({ rootDir: node.rootDir, clock, logger: logger.child({ component: 'operations' }) });
  const workloadRecords = new WorkloadRecords({
    rootDir: node.rootDir,
    logger: logger.child({ component: 'workloads' }),
  });
  const ephemeral = new EphemeralContainers({
    ...engine,
    podDir,
    declaredPod: (pod) => podManager.getByFullName(podFullName(pod)),
    syncPod: (podUID) => {
      inputs.push({ type: 'sync', podUID });
    },
    clock,
    logger: logger.child({ component: 'ephemeral-containers' }),
  });
  const histories = new PodHistories({
    folder: historyFolder(node.rootDir),
    variablesOf: (podUID) => {
      const pod = podManager.get(podUID);
      return pod && variableTexts(ephemeral.effective(pod));
    },
    isDeclared: (pod) => podManager.getByFullName(podFullName(pod)) !== undefined,
    clock,
    logger: logger.child({ component: 'history' }),
  });
  events.subscribe(histories.record);
  const onPodDisk = { statusRecords, appliedRevisions, evictionRecords, undeclaredRecords, ephemeral };
  return { podManager, podDirs, statusManager, ...onPodDisk, records, workloadRecords, histories };
}
