import { expect, test } from 'vitest';
import { startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

/** Less than the two minutes that a call to the runtime may take, and more than a busy machine needs without one. */
const answerMs = 100_000;

test('while containerd is stopped, commands record what they are asked, answer, and say what they wait for', async ({
  onTestFinished,
}) => {
  const pod = (name: string) => makePod(name, { containers: [shell('app', serve)] });
  const agent = await startAgent({ manifests: { 'web.yaml': pod('web'), 'db.yaml': pod('db') } });
  onTestFinished(() => agent.cleanUp());
  await agent.untilReady('web');
  await agent.untilReady('db');
  const containerd = await agent.containerdPid();
  process.kill(containerd, 'SIGSTOP');
  onTestFinished(() => {
    process.kill(containerd, 'SIGCONT');
  });
  const asked = async (words: string[], input = '') => {
    const begunAt = Date.now();
    const result = await agent.cli(words, { input });
    return { ...result, isInTime: Date.now() - begunAt < answerMs };
  };
  const isInTime = true;
  expect(await asked(['stop', 'web', '--timeout', '1s'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'error: timed out before these pods had stopped: web-edge1\n' +
      'hint: It keeps stopping, and stays stopped. Check it: kubelet-ts ps\n',
    isInTime,
  });
  await agent.until(({ runtime }) => runtime.error !== undefined);
  const done = (stdout: string) => ({ code: 0, stdout, stderr: '', isInTime });
  const applied = JSON.stringify(pod('new'));
  expect(await asked(['apply', '-f', '-'], applied)).toEqual(done('pod/new created\n'));
  expect(await asked(['hold', 'db'])).toEqual(
    done('pod/db-edge1 held: changes of its manifest wait until kubelet-ts unhold\n'),
  );
  expect(await asked(['history', 'db'])).toMatchObject({ code: 0, isInTime });
  expect(await asked(['retry', 'db'])).toEqual(
    done('retrying pod/db-edge1 as soon as the container runtime answers\n'),
  );
  expect(await asked(['stop', 'db', '--wait=false'])).toEqual(
    done('pod/db-edge1 stops as soon as the container runtime answers\n'),
  );
  expect(await asked(['delete', 'new', '--wait=false'])).toEqual(done('pod "new" deleted\n'));
  const waiting = agent.spawn(['stop', 'db']);
  const lines: string[] = [];
  for await (const line of waiting.iterable({ from: 'stderr' })) {
    if (line.startsWith('warning')) lines.push(line);
    process.kill(containerd, 'SIGCONT');
  }
  const { exitCode, stdout } = await waiting;
  expect({ exitCode, stdout, lines }).toEqual({
    exitCode: 0,
    stdout: 'pod/db-edge1 stopped\n',
    lines: [expect.stringMatching(/^warning: waiting for the container runtime: .*does not answer$/) as string],
  });
  await agent.until(({ pods }) => pods.every(({ pod: { status } }) => status?.reason === 'Stopped'));
});
