import { AsyncQueue } from '../../flow/async-queue.ts';
import { ConfigObjects } from '../config/config-objects.ts';
import { ConfigReader } from '../config/config-reader.ts';
import { EventBus } from '../view/event-bus.ts';
import { Housekeeping } from '../housekeeping.ts';
import { OutgoingText } from '../outgoing/outgoing-text.ts';
import { PodDirs } from '../host/pod-dirs.ts';
import { PodManager } from '../pod-manager/pod-manager.ts';
import { WorkQueue } from '../pod-workers/work-queue.ts';
import { StatusManager } from '../status/status-manager.ts';
import { StatusRecords } from '../status/status-records.ts';
import type { SyncLoopInput } from '../sync-loop.ts';
import { WallClockHistory } from '../../flow/wall-clock-history.ts';
import { WallClockStore } from '../wall-clock-store.ts';
import type { KubeletDeps } from './kubelet-deps.ts';

/** What every part stands on, and what puts inputs into the sync loop by itself. */
export interface Foundation {
  /** What everything passes that leaves the engine. */
  outgoing: OutgoingText;
  events: EventBus;
  inputs: AsyncQueue<SyncLoopInput>;
  configObjects: ConfigObjects;
  podManager: PodManager;
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  podDirs: PodDirs;
  config: ConfigReader;
  workQueue: WorkQueue;
  housekeeping: Housekeeping;
  wallClock: WallClockHistory;
  wallClockStore: WallClockStore;
}

export function buildFoundation(deps: KubeletDeps): Foundation {
  const { clock, node, secrets } = deps;
  const outgoing = new OutgoingText({ secrets });
  const events = new EventBus({ clock, outgoing, faults: deps.faults });
  const { emit } = events;
  const inputs = new AsyncQueue<SyncLoopInput>();
  const configObjects = new ConfigObjects();
  const podManager = new PodManager();
  const podDirs = new PodDirs(node);
  const statusRecords = new StatusRecords({
    podDir: (uid) => podDirs.podDir(uid),
    clock,
    logger: deps.logger.child({ component: 'status' }),
  });
  const statusManager = new StatusManager({
    emit,
    outgoing,
    onStartOver: (uid) => {
      statusRecords.startOver(uid);
    },
  });
  const config = new ConfigReader({
    sources: deps.sources,
    configObjects,
    secrets,
    featureGates: node.featureGates,
    faults: deps.faults,
    clock,
    emit,
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
  const wallClock = new WallClockHistory(clock);
  const wallClockStore = new WallClockStore({
    rootDir: node.rootDir,
    wallClock,
    logger: deps.logger.child({ component: 'clock' }),
  });
  const housekeeping = new Housekeeping({
    clock,
    onDue: () => {
      wallClock.observe();
      inputs.push({ type: 'housekeeping' });
    },
  });
  return {
    outgoing,
    events,
    inputs,
    configObjects,
    podManager,
    statusManager,
    statusRecords,
    podDirs,
    config,
    workQueue,
    housekeeping,
    wallClock,
    wallClockStore,
  };
}
