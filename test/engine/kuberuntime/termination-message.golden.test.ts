import { expect, test } from 'vitest';
import type { RuntimeContainerState } from '../../../src/engine/kuberuntime/runtime-pod-status.ts';
import { terminationMessage } from '../../../src/engine/kuberuntime/termination-message.ts';
import { loadTable } from '../../golden-tables.ts';

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

function logLinesOf({ log = '', logLines }: In): string[] {
  if (!logLines) return log === '' ? [] : log.split('\n');
  return Array.from({ length: logLines.count }, (_, i) => logLines.text.replaceAll('#', String(i)));
}

test.each(loadTable<In, object>('termination-message'))('termination message, case %#', async ({ in: input, out }) => {
  const { mountPath, file, fileRepeat, ...container } = input;
  const content = fileRepeat ? fileRepeat.text.repeat(fileRepeat.times) : file;
  const mounts = mountPath === '' ? [] : [{ containerPath: mountPath, hostPath: '/host/message' }];
  const message = await terminationMessage(
    { ...container, mounts, logPath: '/host/0.log' },
    {
      readFileTail: (_, maxBytes) =>
        Promise.resolve(content === undefined ? undefined : Buffer.from(content).subarray(-maxBytes)),
      readLogTail: (_, maxLines) =>
        Promise.resolve(
          Buffer.from(
            logLinesOf(input)
              .slice(-maxLines)
              .map((line) => `${line}\n`)
              .join(''),
          ),
        ),
    },
  );
  expect({ message }).toEqual(out);
});
