import { AppliedRevisions } from './in-place/applied-revisions.ts';
import { EvictionRecords } from './eviction/eviction-records.ts';
import { historyFolder } from './history/history-file.ts';
import { PodHistories, variableTexts } from './history/pod-histories.ts';
import { PodDirs } from './host/pod-dirs.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { PodRecords } from './operations/pod-records.ts';
import { PodManager } from './pod-manager/pod-manager.ts';
import { StatusManager } from './status/status-manager.ts';
import { StatusRecords } from './status/status-records.ts';

export type PodState = ReturnType<typeof newPodState>;

/** Makes the parts that know pods and decide nothing: the declared pods, their statuses, their records on disk. */
export function newPodState({ clock, emit, events, logger, node, outgoing }: KubeletBase) {
  const podManager = new PodManager();
  const podDirs = new PodDirs(node);
  const podDir = (uid: string): string => podDirs.podDir(uid);
  const statusRecords = new StatusRecords({ podDir, clock, logger: logger.child({ component: 'status' }) });
  const statusManager = new StatusManager({
    emit,
    outgoing,
    onStartOver: (uid) => {
      statusRecords.startOver(uid);
    },
  });
  const revisions = new AppliedRevisions({
    podDir,
    policy: node.inPlace,
    logger: logger.child({ component: 'in-place' }),
  });
  const evictionRecords = new EvictionRecords({ podDir, logger: logger.child({ component: 'eviction' }) });
  const records = new PodRecords({ rootDir: node.rootDir, clock, logger: logger.child({ component: 'operations' }) });
  const histories = new PodHistories({
    folder: historyFolder(node.rootDir),
    variablesOf: (podUID) => {
      const pod = podManager.get(podUID);
      return pod && variableTexts(pod);
    },
    isDeclared: ({ namespace, name }) => podManager.getByFullName(`${name}_${namespace}`) !== undefined,
    clock,
    logger: logger.child({ component: 'history' }),
  });
  events.subscribe(histories.record);
  return { podManager, podDirs, statusRecords, statusManager, revisions, evictionRecords, records, histories };
}
