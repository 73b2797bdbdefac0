import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;
/** Another folder of manifests, as a clone of a repository is. */
let desired: string;

const pod = (name: string, script = serve): object => makePod(name, { containers: [shell('app', script)] });

beforeAll(async () => {
  agent = await startAgent({ manifests: { 'web.yaml': pod('web'), 'dns.yaml': pod('dns'), 'old.yaml': pod('old') } });
  desired = join(agent.rootDir, 'desired');
  for (const name of ['web', 'dns', 'old']) await agent.untilReady(name);
});
afterAll(() => agent.cleanUp());

beforeEach(async () => {
  await rm(desired, { recursive: true, force: true });
  await mkdir(desired);
});

const declare = (fileName: string, manifest: object): Promise<void> =>
  writeFile(join(desired, fileName), JSON.stringify(manifest));

describe.each(['with a running agent', 'without an agent'])('diff %s', (condition) => {
  // An agent tells its name itself.
  const node = condition === 'without an agent' ? ['--hostname-override', 'edge1'] : [];
  beforeAll(async () => {
    if (condition === 'without an agent') await agent.stop();
  });

  test('says what would come of another folder of manifests, and why', async () => {
    await declare('web.yaml', pod('web', `true; ${serve}`));
    await declare('renamed.json', pod('dns'));
    await declare('new.yaml', pod('new'));
    expect(await agent.cli(['diff', ...node, desired])).toEqual({
      code: 1,
      stderr: '',
      stdout: [
        '= stay     default/dns-edge1',
        '+ start    default/new-edge1 (no pod with this name runs)',
        '- stop     default/old-edge1 (no manifest declares it)',
        '~ restart  default/web-edge1 (replaces the pod: its manifest changed)',
        `      spec.containers[0].command[2]: ${JSON.stringify(serve)} → ${JSON.stringify(`true; ${serve}`)}`,
        '1 to start, 1 to stop, 1 to restart, 1 to stay',
        '',
      ].join('\n'),
    });
  });

  test('a named pipe among the manifests is an error, and is not waited for', async () => {
    await execa('mkfifo', [join(desired, 'pipe.yaml')]);
    const { code, stderr } = await agent.cli(['diff', ...node, desired]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        `error: broken manifest, nothing can be compared\n${desired}/pipe.yaml: error: is not a regular file ` +
        '(Only regular files and links to them are read as manifests. For a pipe, give - and stdin.)\n',
    });
  });

  test('says that nothing would change', async () => {
    for (const name of ['web', 'dns', 'old']) await declare(`${name}.yaml`, pod(name));
    const { code, stdout } = await agent.cli(['diff', '-o', 'json', ...node, desired]);
    expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({
      code: 0,
      configObjects: [],
      pods: ['dns', 'old', 'web'].map((name) => ({
        action: 'stay',
        namespace: 'default',
        name: `${name}-edge1`,
        because: '',
        containers: [],
        differences: [],
      })),
    });
  });

  test('takes the manifests of --config when it names none', async () => {
    await declare('web.yaml', pod('web'));
    const config = join(agent.rootDir, 'kubelet.json');
    const fields = { kind: 'KubeletConfiguration', apiVersion: 'kubelet.config.k8s.io/v1beta1' };
    await writeFile(config, JSON.stringify({ ...fields, staticPodPath: 'desired' }));
    expect(await agent.cli(['diff', '--config', config, ...node])).toEqual({
      code: 1,
      stderr: '',
      stdout: [
        '- stop     default/dns-edge1 (no manifest declares it)',
        '- stop     default/old-edge1 (no manifest declares it)',
        '= stay     default/web-edge1',
        '2 to stop, 1 to stay',
        '',
      ].join('\n'),
    });
  });

  test.each([
    ['a broken manifest', ['-'], 'error: broken manifest, nothing can be compared\n<stdin>:1:1: error: '],
    ['a wrong flag', ['--wrong', '-'], 'error: unknown flag: --wrong\n'],
  ])('exits with 2 for %s', async (_what, args, message) => {
    const { code, stdout, stderr } = await agent.cli(['diff', ...args], { input: '[]' });
    expect({ code, stdout, stderr: stderr.slice(0, message.length) }).toEqual({ code: 2, stdout: '', stderr: message });
  });
});
