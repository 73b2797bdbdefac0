import type { ContainerStatus } from '../../cri/types.ts';
import { readLogTail } from '../logs/read-log-tail.ts';
import { criAnnotations } from '../container/labels.ts';
import { readFileTail } from '../../files/regular-file.ts';
import { terminationMessage } from './termination-message.ts';

/** The runtime's message for a container plus its termination message, read from this machine's files. */
export function readTerminationMessage(status: ContainerStatus): Promise<string> {
  return terminationMessage(
    {
      state: status.state === 'CONTAINER_EXITED' ? 'exited' : 'running',
      exitCode: status.exitCode,
      reason: status.reason,
      message: status.message,
      mounts: status.mounts,
      logPath: status.logPath,
      terminationMessagePath: status.annotations[criAnnotations.terminationMessagePath] ?? '',
      terminationMessagePolicy: status.annotations[criAnnotations.terminationMessagePolicy] ?? '',
    },
    { readFileTail, readLogTail },
  );
}
