import type { ContainerState } from '../../api/types.ts';
import { reasons } from '../view/reasons.ts';

/** 128 + SIGKILL: stands for an exit code that nobody saw. */
const UNSEEN_EXIT_CODE = 137;

/** State of a container that ended without a trace. */
export function terminatedUnseen(when: 'terminated' | 'deleted'): ContainerState {
  const lost = `The container could not be located when the pod was ${when}`;
  return {
    terminated: {
      exitCode: UNSEEN_EXIT_CODE,
      reason: reasons.containerStatusUnknown,
      message: when === 'deleted' ? `${lost}.  The container used to be Running` : lost,
    },
  };
}
