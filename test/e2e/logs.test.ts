import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

/** Bytes that are no text, with long lines and none at the end. */
const binary = 'seq 1 200000; head -c 3000000 /dev/zero | tr "\\0" "\\377"; printf end';

beforeAll(async () => {
  agent = await startAgent({
    manifests: {
      'web.yaml': makePod('web', {
        labels: { app: 'web' },
        containers: [
          shell('app', `echo one; sleep 1.1; echo two; sleep 0.2; echo three >&2; ${serve}`),
          shell('side', `echo aside; ${serve}`),
        ],
      }),
      'crash.yaml': makePod('crash', { labels: { app: 'crash' }, containers: [shell('app', 'echo try; exit 1')] }),
      'big.yaml': makePod('big', { restartPolicy: 'Never', containers: [shell('app', binary)] }),
    },
  });
  await agent.untilReady('web');
  await agent.untilPod('big', ({ worker }) => worker.state === 'finished');
  await agent.untilPod('crash', ({ pod }) => (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) >= 1);
  const follow = agent.spawn(['logs', '-f', 'web', '-c', 'app']);
  let seen = '';
  follow.stdout.on('data', (chunk) => (seen += String(chunk)));
  while (!seen.includes('three')) await once(follow.stdout, 'data');
  follow.kill();
  await follow;
});
afterAll(() => agent.cleanUp());

const logs = (...words: string[]) => agent.cli(['logs', ...words]);
const printed = (stdout: string): object => ({ code: 0, stdout, stderr: '' });

test('prints what a container wrote', async () => {
  expect(await logs('web', '-c', 'app')).toEqual(printed('one\ntwo\nthree\n'));
});

test('--tail prints the last lines', async () => {
  expect(await logs('web', '-c', 'app', '--tail', '1')).toEqual(printed('three\n'));
  expect(await logs('web', '-c', 'app', '--tail', '0')).toEqual(printed(''));
});

test('--timestamps says when, and --since-time starts there', async () => {
  const { stdout } = await logs('web', '-c', 'app', '--timestamps');
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ /, ''))).toEqual([
    'one',
    'two',
    'three',
  ]);
  const second = lines[1]?.split(' ')[0] ?? '';
  expect(await logs('web', '-c', 'app', '--since-time', second)).toEqual(printed('two\nthree\n'));
  expect(await logs('web', '-c', 'app', '--since', '1h')).toEqual(printed('one\ntwo\nthree\n'));
});

test('-p prints the attempt before', async () => {
  expect(await logs('-p', 'crash')).toEqual(printed('try\n'));
});

test('--all-containers --prefix says whose each line is', async () => {
  expect(await logs('web', '--all-containers', '--prefix')).toEqual(
    printed(
      [
        '[pod/web-edge1/app] one',
        '[pod/web-edge1/app] two',
        '[pod/web-edge1/app] three',
        '[pod/web-edge1/side] aside',
        '',
      ].join('\n'),
    ),
  );
});

test('-l -f follows all containers of the pods with these labels', async () => {
  const follow = agent.spawn(['logs', '-f', '-l', 'app in (web,crash)']);
  let seen = '';
  follow.stdout.on('data', (chunk) => (seen += String(chunk)));
  const wanted = ['[pod/crash-edge1/app] try', '[pod/web-edge1/app] three', '[pod/web-edge1/side] aside'];
  while (!wanted.every((line) => seen.includes(`${line}\n`))) await once(follow.stdout, 'data');
  follow.kill();
  await follow;
  const { stdout } = await logs('-l', 'app=web');
  expect(stdout.split('\n')).toEqual([
    ...['one', 'two', 'three'].map((line) => `[pod/web-edge1/app] ${line}`),
    '[pod/web-edge1/side] aside',
    '',
  ]);
});

test('bytes come through a pipe as they were written', async () => {
  const { stdout: expected } = await execa('sh', ['-c', binary], { encoding: 'buffer', stripFinalNewline: false });
  const { code, stdout, stderr } = await agent.cliBytes(['logs', 'big']);
  const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  expect({ code, stderr, length: stdout.length, hash: hash(stdout) }).toEqual({
    code: 0,
    stderr: '',
    length: expected.length,
    hash: hash(expected),
  });
});

test('a reader that has seen enough ends it without a word', async () => {
  const { exitCode, stdout, stderr } = await execa(
    'bash',
    ['-c', 'set -o pipefail; "$@" | head -1; exit ${PIPESTATUS[0]}', 'sh', ...agent.commandLine(['logs', 'big'])],
    { env: agent.environment },
  );
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: '1', stderr: '' });
});

test('-f goes on over a restart, and ends when the container has finished', async () => {
  const script = `trap 'echo stop; exit 1' TERM
    echo start; [ -e /data/second ] && exit 0
    touch /data/second
    while :; do sleep 3600 & wait; done`;
  const volumeMounts = [{ name: 'work', mountPath: '/data' }];
  const manifest = makePod('follow', {
    restartPolicy: 'OnFailure',
    volumes: [{ name: 'work', emptyDir: {} }],
    containers: [shell('app', script, { volumeMounts })],
  });
  await agent.write('follow.yaml', manifest);
  await agent.untilReady('follow');
  const follow = agent.spawn(['logs', '-f', 'follow']);
  await once(follow.stdout, 'data');
  process.kill((await agent.runningContainer('follow')).pid, 'SIGTERM');
  const { exitCode, stdout, stderr } = await follow;
  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 0, stdout: 'start\nstop\nstart\n', stderr: '' });
});

test('reports what is impossible in one sentence', async () => {
  const error = (message: string, hint = ''): object => ({
    code: 1,
    stdout: '',
    stderr: `error: ${message}\n${hint === '' ? '' : `hint: ${hint}\n`}`,
  });
  expect(await logs('wep')).toEqual(error('no pod "wep"', 'Did you mean default/web-edge1?'));
  expect(await logs('-p', 'web', '-c', 'app')).toEqual(
    error('previous terminated container "app" in pod "web-edge1" not found'),
  );
  expect(await logs('web', '--since', '1h', '--since-time', '2024-05-06T07:08:09Z')).toEqual(
    error('use only one of --since and --since-time'),
  );
});
