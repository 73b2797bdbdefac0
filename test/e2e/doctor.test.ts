import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finding, Level } from '../../src/node/doctor/checks/finding.ts';
import { programVersion } from '../../src/process/program-version.ts';
import { archiveTexts } from '../node/support-bundle/archive-texts.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

const planted = {
  env: 'planted-variable-1',
  secret: 'planted-secret-2',
  broken: 'planted-broken-3',
  url: 'planted-password-4',
  query: 'planted-query-5',
  header: 'planted-header-6',
};

beforeAll(async () => {
  agent = await startAgent({
    manifests: {
      'web.yaml': makePod('web', {
        containers: [
          shell('app', serve, {
            env: [
              { name: 'A', value: planted.env },
              { name: 'B', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
            ],
          }),
        ],
      }),
      'login.yaml': {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'login' },
        stringData: { password: planted.secret },
      },
      'broken.yaml': `apiVersion: v1\nkind: Secret\nstringData: {password: ${planted.broken}`,
    },
  });
});
afterAll(() => agent.cleanUp());

test('doctor finds the agent and its runtime, and nothing that prevents pods', async () => {
  const { code, stdout } = await agent.cli(['doctor', agent.manifestsFolder, '-o', 'json', '--healthz-port', '0']);
  const { summary, findings } = JSON.parse(stdout) as { summary: Record<Level, number>; findings: Finding[] };
  const countOf = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  const levels: Level[] = ['ok', 'warning', 'problem', 'unseen'];
  // What else is wrong with this machine does not concern the test.
  expect({ code, summary }).toEqual({
    code: summary.problem === 0 ? 0 : 1,
    summary: Object.fromEntries(levels.map((level) => [level, countOf(level)])),
  });
  expect(findings.find(({ check }) => check === 'agent')).toEqual({
    check: 'agent',
    level: 'ok',
    evidence: `kubelet-ts ${programVersion} runs on this root-dir (pid ${agent.pid})`,
  });
  expect(findings.filter(({ check }) => check === 'runtime').map(({ level, evidence }) => [level, evidence])).toEqual([
    ['ok', 'The managed containerd of this root-dir has our pods and images.'],
    ['ok', expect.stringMatching(/^can be managed: \/\S+ \S+ with its shim, \/\S+$/)],
    ['ok', expect.stringMatching(/^containerd \S+ answers on unix:\/\/\/.*containerd\.sock$/)],
    ['ok', 'cgroup driver cgroupfs'],
  ]);
});

test('doctor exits with 1 for a problem and names the fix, and with 2 for a wrong flag', async () => {
  const broken = await agent.cli(['doctor', '--container-runtime-endpoint', 'unix:///nowhere/cri.sock']);
  expect({ code: broken.code, text: broken.stdout.split('\n').filter((line) => line.includes('nowhere')) }).toEqual({
    code: 1,
    text: [expect.stringContaining('The container runtime endpoint unix:///nowhere/cri.sock does not exist')],
  });
  expect(await agent.cli(['doctor', '--registri', 'x'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: unknown flag: --registri\nhint: Did you mean --registry?\n',
  });
  expect(await agent.cli(['doctor', '--registry', 'a b'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: --registry "a b" is not a host\nhint: Write it as registry.example or registry.example:5000.\n',
  });
});

test('support-bundle has the state of the node for its owner alone, and no planted secret', async () => {
  await agent.untilReady('web');
  const path = join(agent.rootDir, 'bundle.tar.gz');
  const url = `http://user:${planted.url}@127.0.0.1:1/pod.yaml?sig=${planted.query}`;
  const flags = ['--manifest-url', url, '--manifest-url-header', `Authorization:Bearer ${planted.header}`];
  const words = ['support-bundle', agent.manifestsFolder, ...flags, '-o', path];
  expect(await agent.cli(words)).toEqual({
    code: 0,
    stdout: expect.stringContaining(`${path}: `) as string,
    stderr: '',
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const texts = await archiveTexts(await readFile(path));
  const whole = JSON.stringify(texts);
  const forms = Object.values(planted).flatMap((value) => [value, Buffer.from(value).toString('base64')]);
  expect(forms.filter((value) => whole.includes(value))).toEqual([]);
  expect(JSON.parse(texts['contents.json'] ?? '')).toMatchObject({ missing: [], cut: [] });
  expect(Object.keys(texts).map((name) => name.split('/')[0])).toEqual(
    expect.arrayContaining([
      ...['versions.json', 'doctor.json', 'configuration.json', 'snapshot.json', 'stats.json', 'metrics.txt', 'logs'],
      ...['history', 'manifests', 'manifests-last-good', 'mounts.txt', 'processes.txt'],
    ]),
  );
});

test('doctor warns of pods that run without an agent', async () => {
  await agent.stop();
  const { stdout } = await agent.cli(['doctor', '-o', 'json', '--healthz-port', '0']);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  expect(findings.find(({ check }) => check === 'agent')).toEqual({
    check: 'agent',
    level: 'warning',
    evidence: 'no kubelet-ts runs on this root-dir, but one pod runs: nothing restarts or probes its containers',
    fix: 'Start it: systemctl start kubelet-ts, or kubelet-ts run MANIFEST',
  });
});

test('support-bundle works without an agent, and says what is missing', async () => {
  const path = join(agent.rootDir, 'bundle.tar.gz');
  expect((await agent.cli(['support-bundle', '-o', path])).code).toBe(0);
  const texts = await archiveTexts(await readFile(path));
  const { missing } = JSON.parse(texts['contents.json'] ?? '') as { missing: unknown };
  const reason = 'no kubelet-ts runs on this root-dir';
  expect(missing).toEqual([
    { name: 'stats.json', reason },
    { name: 'metrics.txt', reason },
  ]);
  expect(JSON.stringify(texts)).not.toMatch(/planted-/);
});
