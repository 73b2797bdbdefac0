import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finding } from '../../src/node/doctor/checks/finding.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent({ manifests: { 'web.yaml': makePod('web', { containers: [shell('app', serve)] }) } });
});
afterAll(() => agent.cleanUp());

test('doctor finds the agent and its runtime, and nothing that prevents pods', async () => {
  const { stdout } = await agent.cli(['doctor', agent.manifestsFolder, '-o', 'json', '--healthz-port', '0']);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  expect(findings.find(({ check }) => check === 'agent')).toEqual({
    check: 'agent',
    level: 'ok',
    evidence: `kubelet-ts runs on this root-dir (pid ${agent.pid})`,
  });
  expect(findings.filter(({ check }) => check === 'runtime').map(({ level, evidence }) => [level, evidence])).toEqual([
    ['ok', 'The managed containerd of this root-dir has our pods and images.'],
    ['ok', expect.stringMatching(/^can be managed: \/\S+ \S+ with its shim, \/\S+$/)],
    ['ok', expect.stringMatching(/^containerd \S+ answers on unix:\/\/\/.*containerd\.sock$/)],
    ['ok', 'cgroup driver cgroupfs'],
  ]);
});

test('doctor exits with 1 for a problem and names the way out, and with 2 for a wrong flag', async () => {
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
