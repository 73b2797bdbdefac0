import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

/** Fails once, then stays. */
const failOnce = `if [ -e /state/failed ]; then ${serve}; fi; touch /state/failed; exit 3`;

beforeAll(async () => {
  agent = await startAgent({
    manifests: {
      'web.yaml': makePod('web', {
        containers: [
          {
            ...shell('app', failOnce),
            volumeMounts: [{ name: 'state', mountPath: '/state' }],
            env: [{ name: 'TOKEN', value: 'a-token-that-stays-here' }],
          },
        ],
        volumes: [{ name: 'state', emptyDir: {} }],
        priorityClassName: 'system-node-critical',
        priority: 2000001000,
      }),
    },
    flags: ['--node-ip', '192.0.2.7,fd00::7'],
  });
  await agent.untilPod('web', ({ pod }) => pod.status?.containerStatuses?.[0]?.restartCount === 1);
  await agent.untilReady('web');
});
afterAll(() => agent.cleanUp());

interface Described {
  name: string;
  pods: { pod: { status?: { phase?: string } } }[];
  history: { kind: string; containerName?: string; restartCount?: number; exitCode?: number; reason: string }[];
}

async function described(): Promise<Described> {
  const { code, stdout } = await agent.cli(['describe', 'web', '-o', 'json']);
  expect(code).toBe(0);
  return JSON.parse(stdout) as Described;
}

const endsOf = ({ history }: Described): unknown[] => history.filter(({ kind }) => kind === 'end');

const failed = { kind: 'end', containerName: 'app', restartCount: 0, exitCode: 3, reason: 'Error' };

describe('describe', () => {
  test.each([[['pod', 'web']], [[]]])('%j shows the same as the name alone', async (words) => {
    const heads = async (...names: string[]): Promise<string[]> => {
      const { stdout } = await agent.cli(['describe', ...names]);
      return stdout.split('\n').filter((line) => /^(Name|UID|Containers):/.test(line));
    };
    expect(await heads(...words)).toEqual(await heads('web'));
  });

  test('without pods, and of the node, it says so', async () => {
    expect([await agent.cli(['describe', '-n', 'nobody']), await agent.cli(['describe', 'node', 'edge1'])]).toEqual([
      { code: 0, stdout: 'No pods.\n', stderr: '' },
      {
        code: 1,
        stdout: '',
        stderr:
          'error: kubelet-ts describe cannot show nodes\nhint: Show the node: kubelet-ts top node, and kubelet-ts doctor\n',
      },
    ]);
  });

  test('shows the containers of a pod, how they ended, and its events', async () => {
    const { code, stdout } = await agent.cli(['describe', 'web']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Name: +web-edge1$/m);
    expect(stdout).toMatch(/^Status: +Running$/m);
    expect(stdout).toMatch(/^Priority: +2000001000 \(system-node-critical\)$/m);
    expect(stdout).toMatch(/^Node: +edge1\/192\.0\.2\.7$/m);
    expect(stdout).toMatch(/^IP: +192\.0\.2\.7\n {16,}fd00::7$/m);
    expect(stdout).toMatch(/^Host Network: +true$/m);
    expect(stdout).toMatch(/^ {4}Restart Count: +1$/m);
    expect(stdout).toMatch(/^ {4} {2}Exit Code: +3$/m);
    expect(stdout).toMatch(/^Exits:$/m);
    expect(stdout).toMatch(/^ {2}app#0 +Error +3 /m);
    expect(stdout).toMatch(/^ {2}Normal +Started +\S+ \(x2 over \S+\) +app +Container started$/m);
  });

  test('shows that the manifest is broken, and reports when it was and when it was good again', async () => {
    const good = await readFile(join(agent.manifestsFolder, 'web.yaml'), 'utf8');
    const recorded = agent.waitForLog(({ reason }) => reason === 'ManifestBroken');
    await agent.write('web.yaml', good.replace('"containers"', '"containerz"'));
    await recorded;
    const { stdout } = await agent.cli(['describe', 'web']);
    expect(stdout).toMatch(/^Manifest: +\S+web\.yaml:1:\d+: error: spec\.containers: Required value/m);
    expect(stdout).toMatch(/^ {10,}\S+web\.yaml: error: its last good revision stays in use, read \S+ ago$/m);
    const again = agent.waitForLog(({ reason }) => reason === 'ManifestGood');
    await agent.write('web.yaml', good);
    await again;
    const after = (await agent.cli(['describe', 'web'])).stdout;
    expect(after).not.toMatch(/^Manifest:/m);
    expect(after).toMatch(
      /^ {2}Warning +ManifestBroken .*Its manifest is broken, its last good revision stays in use: /m,
    );
    expect(after).toMatch(/^ {2}Normal +ManifestGood .*Its manifest is good again: \S+web\.yaml$/m);
  });

  test('tells the same after the agent was killed, with and without another one', async () => {
    expect(endsOf(await described())).toEqual([expect.objectContaining(failed)]);
    // What is not written yet may be lost with a killed agent; the next one finds it in the runtime.
    await agent.kill9();
    await agent.start();
    await agent.untilReady('web');
    expect(endsOf(await described())).toEqual([expect.objectContaining(failed)]);
    await agent.stop();
    const without = await described();
    expect(endsOf(without)).toEqual([expect.objectContaining(failed)]);
    expect(without.pods.map(({ pod }) => pod.status?.phase)).toEqual(['Running']);
    await agent.start();
    await agent.untilReady('web');
  });

  test('no file of the history holds a variable', async () => {
    const folder = join(agent.rootDir, 'state', 'history');
    const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
    expect(texts.join('')).toContain('"kind":"end"');
    expect(texts.join('')).not.toContain('a-token-that-stays-here');
  });

  test('says which pod is meant, or which pods there are, when none fits', async () => {
    expect(await agent.cli(['describe', 'wob'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: no pod "wob"\nhint: Did you mean web-edge1?\n',
    });
    expect((await agent.cli(['describe', 'xyz'])).stderr).toBe('error: no pod "xyz"\nhint: Pods: default/web-edge1.\n');
  });
});
