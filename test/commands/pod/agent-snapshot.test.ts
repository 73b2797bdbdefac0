import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { agentAnswer, agentSnapshot } from '../../../src/commands/pod/agent-snapshot.ts';
import { AgentStartingError } from '../../../src/server/control/agent-errors.ts';

test('a command says that the agent loads images, and uses the runtime', async () => {
  const stderr = new PassThrough({ encoding: 'utf8' });
  const starting = new AgentStartingError('loading image archive app.tar, 45% 135.0/300.0 MB');
  expect(await agentAnswer('/nowhere', stderr, () => Promise.reject(starting))).toBe('silent');
  expect(stderr.read()).toBe(
    'warning: kubelet-ts is starting: loading image archive app.tar, 45% 135.0/300.0 MB; ' +
      'the data is from the container runtime\n' +
      'hint: Try again in a moment, or wait for it: kubelet-ts wait POD\n',
  );
});

test('without an agent a command warns, and no name of a folder controls the terminal', async () => {
  const stderr = new PassThrough({ encoding: 'utf8' });
  expect(await agentSnapshot('/nowhere\u001b[31m', stderr, 'the data is from the runtime')).toBeUndefined();
  expect(stderr.read()).toBe('warning: no kubelet-ts runs on /nowhere\\x1b[31m: the data is from the runtime\n');
});
