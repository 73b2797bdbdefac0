import type { Pod } from '../../api/types.ts';
import type { Emit } from './event-bus.ts';
import type { EventCause } from './events.ts';
import { podRef } from '../../api/values/pod-names.ts';

/** Records Kubernetes events of one pod, in the kubelet's words. */
export interface PodEventRecorder {
  normal(reason: string, message: string, containerName?: string): void;
  warning(reason: string, message: string, containerName?: string, hint?: string, cause?: EventCause): void;
}

export function podEventRecorder(emit: Emit, pod: Pod): PodEventRecorder {
  const record =
    (eventType: 'Normal' | 'Warning') =>
    (reason: string, message: string, containerName?: string, hint?: string, cause?: EventCause): void => {
      emit({
        type: 'Recorded',
        eventType,
        reason,
        message,
        pod: podRef(pod),
        ...(containerName === undefined ? {} : { containerName }),
        ...(hint === undefined ? {} : { hint }),
        ...(cause === undefined ? {} : { cause }),
      });
    };
  return { normal: record('Normal'), warning: record('Warning') };
}
