import type { RuntimeContainerState } from '../../../src/engine/container/runtime-pod-status.ts';
import { terminationMessage } from '../../../src/engine/kuberuntime/termination-message.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  terminationMessagePath: string;
  terminationMessagePolicy: string;
  exitCode: number;
  state: RuntimeContainerState;
  reason: string;
  message: string;
  mountPath: string;
  file?: string;
  fileRepeat?: { text: string; times: number };
  log?: string;
  logLines?: { text: string; count: number };
}

export const terminationMessages = tableAdapter<In>('termination-message', async (input) => {
  const { mountPath, file, fileRepeat, ...container } = input;
  const content = fileRepeat ? fileRepeat.text.repeat(fileRepeat.times) : file;
  const mounts = mountPath === '' ? [] : [{ containerPath: mountPath, hostPath: '/host/message' }];
  const message = await terminationMessage(
    { ...container, mounts, logPath: '/host/0.log' },
    {
      readFileTail: (_, maxBytes) =>
        Promise.resolve(content === undefined ? undefined : Buffer.from(content).subarray(-maxBytes)),
      readLogTail: (_, { maxLines, maxBytes }) =>
        Promise.resolve(logTail(logLinesOf(input), maxLines).subarray(-maxBytes)),
    },
  );
  return { message };
});

function logLinesOf({ log = '', logLines }: In): string[] {
  if (!logLines) return log === '' ? [] : log.split('\n');
  return Array.from({ length: logLines.count }, (_, i) => logLines.text.replaceAll('#', String(i)));
}

function logTail(lines: readonly string[], maxLines: number): Buffer {
  const tail = lines.slice(-maxLines).map((line) => `${line}\n`);
  return Buffer.from(tail.join(''));
}
