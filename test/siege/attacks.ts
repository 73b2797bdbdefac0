import type { Attack } from './attack.ts';
import { badManifestServer } from './attacks/bad-manifest-server.ts';
import { fastExits } from './attacks/fast-exits.ts';
import { foreignPod } from './attacks/foreign-pod.ts';
import { halfSentRequests } from './attacks/half-sent-requests.ts';
import { hostileNames } from './attacks/hostile-names.ts';
import { localUser } from './attacks/local-user.ts';
import { loudHooks } from './attacks/loud-hooks.ts';
import { lyingProbeTargets } from './attacks/lying-probe-targets.ts';
import { oddImageArchives } from './attacks/odd-image-archives.ts';
import { oddLogs } from './attacks/odd-logs.ts';
import { oddTerminationMessages } from './attacks/odd-termination-messages.ts';
import { slowEventReaders } from './attacks/slow-event-readers.ts';
import { stoppedRuntime } from './attacks/stopped-runtime.ts';
import { usedUpInotify } from './attacks/used-up-inotify.ts';

/** Every kind there is. */
export const attacks: readonly Attack[] = [
  halfSentRequests,
  slowEventReaders,
  oddTerminationMessages,
  oddLogs,
  loudHooks,
  fastExits,
  hostileNames,
  badManifestServer,
  lyingProbeTargets,
  oddImageArchives,
  usedUpInotify,
  localUser,
  stoppedRuntime,
  foreignPod,
];
