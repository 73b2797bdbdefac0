import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../src/api/types.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';
import { program } from './program.ts';
import { shells } from './shells.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let agent: Agent;
/** Has the port that pod `port` wants. */
const taken = createServer();

beforeAll(async () => {
  await once(taken.listen(0), 'listening');
  const { port } = taken.address() as AddressInfo;
  agent = await startAgent({
    manifests: {
      'good.yaml': makePod('good', { containers: [shell('app', serve)] }),
      'typo.yaml': makePod('typo', { containers: [{ name: 'app', image: '127.0.0.1:1/nginx:typo' }] }),
      'command.yaml': makePod('command', { containers: [shell('app', '', { command: ['shopd'] })] }),
      'port.yaml': makePod('port', { containers: [shell('app', `nc -ll -p ${port} -e true`)] }),
      'volume.yaml': makePod('volume', {
        containers: [shell('app', serve, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
        volumes: [{ name: 'data', hostPath: { path: '/nowhere', type: 'Directory' } }],
      }),
      'selector.yaml': makePod('selector', { containers: [shell('app', serve)], nodeSelector: { disk: 'ssd' } }),
    },
  });
  await agent.untilReady('good');
  await agent.write('syntax.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: syntax}\nspec: {containers: 5}\n');
  await agent.until(({ sources }) => sources.some(({ problems }) => problems.length > 0));
  await agent.untilPod('command', ({ pod }) => /^(RunContainerError|CrashLoopBackOff)$/.test(waiting(pod) ?? ''));
  await agent.untilPod('typo', ({ pod }) => /^(ErrImagePull|ImagePullBackOff)$/.test(waiting(pod) ?? ''));
  await agent.untilPod('volume', ({ worker }) => worker.lastSyncError !== undefined);
});
afterAll(async () => {
  taken.close();
  await agent.cleanUp();
});

const waiting = ({ status }: Pod): string | undefined => status?.containerStatuses?.[0]?.state?.waiting?.reason;

/** True if its container has ended so lately that the next try is seconds away. */
function hasJustCrashed({ pod }: PodSnapshot): boolean {
  const finishedAt = pod.status?.containerStatuses?.[0]?.lastState?.terminated?.finishedAt ?? '';
  return waiting(pod) === 'CrashLoopBackOff' && Date.now() - Date.parse(finishedAt) < 4000;
}

interface Explained {
  stage: string;
  cause: string;
  place?: { file: string; line: number };
}

test.each([
  ['good', 'running', 'it runs and is Ready'],
  ['typo', 'image', 'the registry 127.0.0.1:1 cannot be reached'],
  ['command', 'start', 'its image has no command "shopd"'],
  ['port', 'back-off', 'the port that it listens on is taken (exit code 1)'],
  ['volume', 'volume', 'volume data: /nowhere is not a directory on this machine'],
  ['selector', 'admission', 'nodeSelector wants the label disk=ssd, and this node has none of that name'],
])('explain names the cause of %s', async (name, stage, cause) => {
  if (stage === 'back-off') await agent.untilPod(name, hasJustCrashed);
  const { code, stdout } = await agent.cli(['explain', name, '-o', 'json']);
  const { place, ...explained } = JSON.parse(stdout) as Explained;
  expect({ code, stage: explained.stage, cause: explained.cause }).toEqual({ code: 0, stage, cause });
  const file = join(agent.manifestsFolder, `${name}.yaml`);
  expect(place?.file).toBe(['good', 'port'].includes(name) ? undefined : file);
});

test('explain shows the line of the manifest, the evidence and the fix', async () => {
  const { stdout } = await agent.cli(['explain', 'typo']);
  expect(stdout).toContain('default/typo-edge1: image\n  container app: the registry 127.0.0.1:1 cannot be reached\n');
  expect(stdout).toContain(`${join(agent.manifestsFolder, 'typo.yaml')}:1:`);
  expect(stdout).toMatch(/^Evidence:\n {2}container app: waits: (ErrImagePull|ImagePullBackOff): /m);
  expect(stdout).toMatch(/^What to do:\n {2}- Check the network/m);
});

test('explain -o json has the facts of the page, with the last five lines of the log', async () => {
  const script = 'for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 3';
  await agent.write('lines.json', makePod('lines', { containers: [shell('app', script)] }));
  await agent.untilPod('lines', hasJustCrashed);
  const { stdout } = await agent.cli(['explain', 'lines', '-o', 'json']);
  const { evidence, nextTryAt, ...facts } = JSON.parse(stdout) as { evidence: object[]; nextTryAt: number };
  expect(facts).toEqual({
    namespace: 'default',
    name: 'lines-edge1',
    stage: 'back-off',
    container: 'app',
    cause: 'exits with code 3',
    fixes: ['Read its output: kubelet-ts logs -p lines', 'Correct the program, its arguments or its configuration.'],
  });
  expect(evidence.at(-1)).toEqual({ from: 'log of app', text: 'line 3\nline 4\nline 5\nline 6\nline 7' });
  expect(Number.isInteger(nextTryAt)).toBe(true);
  await agent.remove('lines.json');
  await agent.until(({ pods }) => pods.every(({ pod }) => pod.metadata.name !== 'lines-edge1'));
});

test('explain finds the manifest of a pod that is not declared, because it has an error', async () => {
  const file = join(agent.manifestsFolder, 'syntax.yaml');
  const { code, stdout } = await agent.cli(['explain', 'syntax']);
  expect(code).toBe(0);
  expect(stdout).toContain(`default/syntax: manifest\n  ${file}:4:20: spec.containers: Expected a list`);
  expect(stdout).toContain(`kubelet-ts validate ${file}`);
});

test('a name that nothing knows is an error that names the nearest', async () => {
  expect(await agent.cli(['explain', 'goood'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: no pod "goood"\nhint: Did you mean good-edge1?\n',
  });
});

test('ps has a reason for each pod that is not Ready', async () => {
  const { stdout } = await agent.cli(['ps']);
  const reasons = Object.fromEntries(
    stdout.split('\n').flatMap((line) => {
      const [, name, reason] = /^default +(\w+)-edge1 .*?(?: {3}(\S[^;]*))?(?:; next try in \w+)?$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, line.includes('   Running') ? '' : reason?.split(/ {3,}/).at(-1)]];
    }),
  );
  expect(reasons).toMatchObject({
    good: '',
    typo: 'the registry 127.0.0.1:1 cannot be reached',
    command: 'its image has no command "shopd"',
    volume: 'volume data: /nowhere is not a directory on this machine',
    selector: 'nodeSelector wants the label disk=ssd, and this node has none of that name',
  });
});

test('bash completes the names of pods and containers', async () => {
  const script = [
    'kubelet-ts() { "$PROGRAM" "$@"; }',
    'source <(kubelet-ts completion bash)',
    'try() { COMP_WORDS=(kubelet-ts "$@"); COMP_CWORD=$#; COMPREPLY=(); _kubelet_ts; echo "${COMPREPLY[@]}"; }',
    "try logs ''",
    'try logs go',
    "try exec typo -c ''",
    'try wait good --for = del',
    'try expl',
    "try logs --tail ''",
  ].join('\n');
  const { stdout } = await execa('bash', ['-c', script], {
    env: { PROGRAM: program, KUBELET_TS_ROOT_DIR: agent.rootDir },
  });
  expect(stdout.split('\n')).toEqual([
    'command good port selector typo volume',
    'good',
    'app',
    'deleted',
    'explain',
    '',
  ]);
});

test.each(Object.entries(shells))('%s completes like bash, and files where no words are known', async (shell, type) => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'images'));
  await writeFile(join(folder, 'app.tar'), '');
  const completions = {
    'kubelet-ts expl': ['explain'],
    'kubelet-ts logs ': ['command', 'good', 'port', 'selector', 'typo', 'volume'],
    'kubelet-ts exec typo -c ': ['app'],
    'kubelet-ts wait good --for=del': ['--for=deleted'],
    'kubelet-ts images load ': ['app.tar', 'images'],
    'kubelet-ts run --root-dir=im': [shell === 'fish' ? '--root-dir=images' : 'images'],
    'kubelet-ts unknown a': ['app.tar'],
  };
  const lines = Object.keys(completions);
  expect(await type({ lines, folder, rootDir: agent.rootDir })).toEqual(completions);
});

test('events lists the past of a pod, then new events', async () => {
  const { stdout } = await agent.cli(['events', 'good']);
  expect(stdout).toMatch(/^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n/);
  expect(stdout).toMatch(/^\S+ +Normal +Started +default\/good-edge1 +app: Container started$/m);
  const listed = async (...flags: string[]): Promise<string> =>
    (await agent.cli(['events', '-o', 'json', ...flags])).stdout;
  expect(await listed('--for', 'pod/good')).toBe(await listed('good'));
  const [command = '', ...words] = agent.commandLine(['events', '-w', '-o', 'json']);
  const watching = execa(command, words, { env: agent.environment, reject: false });
  let isWritten = false;
  for await (const line of watching) {
    const { name, reason } = JSON.parse(line) as { name: string; reason: string };
    // By its first line, the watch has begun.
    if (!isWritten) await agent.write('late.yaml', makePod('late', { containers: [shell('app', serve)] }));
    isWritten = true;
    if (name === 'late-edge1' && reason === 'Started') break;
  }
  watching.kill();
  await watching;
});

test('a command of another program leads to ours', async () => {
  const stderr = async (...words: string[]): Promise<string> => (await agent.cli(words)).stderr;
  expect(await stderr('pods')).toBe(
    `error: there is no command "pods"\nhint: Use: kubelet-ts ps --root-dir ${agent.rootDir}\n`,
  );
  expect(await stderr('descrbe', 'web')).toBe(
    `error: there is no command "descrbe"\nhint: Did you mean kubelet-ts describe --root-dir ${agent.rootDir} web?\n`,
  );
  expect((await agent.cli(['get', 'pod', 'good', '-o', 'jsonpath={.metadata.name}'])).stdout).toBe('good-edge1');
  expect((await agent.cli(['wait', '--for=condition=Ready', 'pod/good', '--timeout', '120'])).code).toBe(0);
});

test('explain, ps and logs show the init container that a pod waits for', async () => {
  const containers = {
    initContainers: [shell('wait', `echo no mqtt yet; ${serve}`)],
    containers: [shell('app', serve)],
  };
  await agent.write('stalled.yaml', makePod('stalled', containers));
  await agent.untilPod('stalled', ({ pod }) => pod.status?.initContainerStatuses?.[0]?.state?.running !== undefined);
  // Returns once the line is in the log.
  await agent.cli(['logs', 'stalled', '-c', 'wait', '-f', '--limit-bytes', '12']);
  const cause = 'wait: init container 1 of 1 is still running; app starts after it';
  const explained = JSON.parse((await agent.cli(['explain', 'stalled', '-o', 'json'])).stdout) as object;
  expect(explained).toMatchObject({
    stage: 'start',
    container: 'wait',
    cause,
    evidence: [{ from: 'container wait' }, { from: 'log of wait', text: 'no mqtt yet' }],
    fixes: ['Read its output: kubelet-ts logs stalled -c wait'],
  });
  expect((await agent.cli(['ps', 'stalled', '--no-headers'])).stdout).toMatch(
    new RegExp(`^default +stalled-edge1 +0/1 +Init:0/1 +0 +\\w+ +${cause}\\n$`),
  );
  expect(await agent.cli(['logs', 'stalled'])).toEqual({
    code: 1,
    stdout: '',
    stderr: [
      'Defaulted container "app" out of: app, wait (init)',
      'last lines of init container wait:',
      '  no mqtt yet',
      'error: container "app" in pod "stalled-edge1" is waiting to start: PodInitializing: init container wait is running',
      'hint: Show the log of the init container: kubelet-ts logs default/stalled-edge1 -c wait',
      '',
    ].join('\n'),
  });
  expect((await agent.cli(['describe', 'stalled'])).stdout).toMatch(
    new RegExp(`^Source: +file: ${join(agent.manifestsFolder, 'stalled.yaml')}$`, 'm'),
  );
});

test('get, describe, restart and wait name the manifest with an error that declares no pod', async () => {
  const error = `${join(agent.manifestsFolder, 'syntax.yaml')}:4:20: spec.containers: Expected a list, found the number 5`;
  const hint = `Its manifest has an error: ${error}. Show it: kubelet-ts explain syntax`;
  for (const command of ['get', 'describe', 'restart']) {
    const failed = { code: 1, stdout: '', stderr: `error: no pod "syntax"\nhint: ${hint}\n` };
    expect(await agent.cli([command, 'syntax'])).toEqual(failed);
  }
  expect(await agent.cli(['wait', 'syntax', '--timeout', '1h'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `error: pod syntax does not run its manifest, which has an error: ${error}\n` +
      'hint: Correct the manifest, then wait again. Show the error: kubelet-ts explain syntax\n',
  });
});
