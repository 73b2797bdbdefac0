import { once } from 'node:events';
import { createServer } from 'node:http';
import { PassThrough, Writable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { waitForExit } from '../../../src/commands/pod/wait-for-exit.ts';
import { controlSocketPath } from '../../../src/server/control/socket-paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';

const stderr = new PassThrough();
const meant = ['web', 'db'].map((name) => ({
  name,
  isPod: ({ metadata }: { metadata: { name: string } }) => metadata.name === `${name}-edge1`,
}));

test('a time-out before the first answer of the agent names all pods', async () => {
  const socket = controlSocketPath(await temporaryFolder());
  const silent = createServer(() => undefined).listen(socket);
  await once(silent, 'listening');
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  await expect(waitForExit(meant, socket, { timeoutMs: 1, hint: 'Wait.', stderr })).rejects.toMatchObject({
    name: 'UserError',
    message: 'timed out before these pods had stopped: web, db',
    hint: 'Wait.',
  });
});

test('pods that have ended are reported, the others named, and the runtime that delays them', async () => {
  const rootDir = await temporaryFolder();
  const entry = makeEntry('web-edge1');
  const pods = [{ ...entry, worker: { ...entry.worker, state: 'terminating' } }];
  await startFakeAgent(rootDir, { '/v1/snapshot': { nodeName: 'edge1', pods, runtime: { error: 'no answer' } } });
  const lines: string[] = [];
  const stderr = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const ended: string[] = [];
  const onEnded = ({ name }: { name: string }): void => void ended.push(name);
  const socket = controlSocketPath(rootDir);
  await expect(waitForExit(meant, socket, { timeoutMs: 0, hint: 'Wait.', stderr, onEnded })).rejects.toMatchObject({
    message: 'kubelet-ts exited before these pods had stopped: web',
  });
  expect(ended).toEqual(['db']);
  expect(lines).toEqual(['warning: waiting for the container runtime: no answer\n']);
});
