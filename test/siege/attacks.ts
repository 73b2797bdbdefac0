import type { Attack } from './attack.ts';
import { badManifestServer } from './attacks/bad-manifest-server.ts';
import { fastExits } from './attacks/fast-exits.ts';
import { foreignPod } from './attacks/foreign-pod.ts';
import { halfSentRequests } from './attacks/half-sent-requests.ts';
import { hostileNames } from './attacks/hostile-names.ts';
import { localUser } from './attacks/local-user.ts';
import { loudHooks } from './attacks/loud-hooks.ts';
import { lyingProbeTargets } from './attacks/lying-probe-targets.ts';
import { manyFolders } from './attacks/many-folders.ts';
import { oddImageArchives } from './attacks/odd-image-archives.ts';
import { oddLogs } from './attacks/odd-logs.ts';
import { oddTerminationMessages } from './attacks/odd-termination-messages.ts';
import { pluginSockets } from './attacks/plugin-sockets.ts';
import { slowEventReaders } from './attacks/slow-event-readers.ts';
import { stoppedRuntime } from './attacks/stopped-runtime.ts';
import { stuckLogReaders } from './attacks/stuck-log-readers.ts';
import { usedUpInotify } from './attacks/used-up-inotify.ts';

/** Every kind there is. */
export const attacks: readonly Attack[] = [
  halfSentRequests,
  slowEventReaders,
  stuckLogReaders,
  oddTerminationMessages,
  oddLogs,
  loudHooks,
  fastExits,
  manyFolders,
  hostileNames,
  badManifestServer,
  lyingProbeTargets,
  oddImageArchives,
  usedUpInotify,
  pluginSockets,
  localUser,
  stoppedRuntime,
  foreignPod,
];
