import { expect, test } from 'vitest';
import {
  terminationMessage,
  type TerminationMessageContainer,
} from '../../../src/engine/kuberuntime/termination-message.ts';

const exited: TerminationMessageContainer = {
  state: 'exited',
  exitCode: 1,
  reason: 'Error',
  message: '',
  mounts: [{ containerPath: '/dev/termination-log', hostPath: '/host/message' }],
  logPath: '/host/0.log',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'FallbackToLogsOnError',
};
const noFile = () => Promise.resolve(undefined);
const noLog = () => Promise.resolve(new Uint8Array());

test('is that of the runtime while the container runs', async () => {
  const readFileTail = () => Promise.resolve(Buffer.from('not yet'));
  const running = { ...exited, state: 'running', message: 'as the runtime says' } as const;
  expect(await terminationMessage(running, { readFileTail, readLogTail: noLog })).toBe('as the runtime says');
});

test('says so when the file cannot be read, and leaves the log alone', async () => {
  const readFileTail = () => Promise.reject(new Error('EIO: i/o error'));
  const readLogTail = () => Promise.resolve(Buffer.from('log\n'));
  expect(await terminationMessage(exited, { readFileTail, readLogTail })).toBe(
    'Error on reading termination log /host/message: EIO: i/o error',
  );
});

test('keeps the end of the log when the file is missing', async () => {
  const readLogTail = (_: string, { maxBytes }: { maxBytes: number }) =>
    Promise.resolve(Buffer.from(`${'x'.repeat(3000)}the end\n`).subarray(-maxBytes));
  const message = await terminationMessage(exited, { readFileTail: noFile, readLogTail });
  expect(message).toBe(`${'x'.repeat(2040)}the end\n`);
});
