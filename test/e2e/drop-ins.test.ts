import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findShims } from '../../src/containerd/containerd-shims.ts';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { type ManagedPaths, managedPaths } from '../../src/containerd/managed-paths.ts';
import { readDropIns } from '../../src/containerd/read-drop-ins.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Agent } from './agent.ts';
import { containerdReleases, inTurn } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { StubPrograms } from './stub-programs.ts';

const classOf = (name: string): object => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name },
  handler: name,
});
const podOf = (name: string): object => makePod(name, { runtimeClassName: name, containers: [shell('main', serve)] });

const runtimeOf = (name: string, lines: string): string =>
  `version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.${name}]\n${lines}\n`;

describe.concurrent.each(containerdReleases())('the managed containerd $release', inTurn, (containerd) => {
  let agent: Agent;
  let paths: ManagedPaths;
  let programs: StubPrograms;
  const path = `${containerd.folder ?? ''}:${process.env['PATH'] ?? ''}`;

  const write = (name: string, text: string): Promise<void> => writeFile(join(paths.dropIns, name), text);
  const warnings = (since = 0): string[] =>
    agent.logs.slice(since).flatMap(({ level, msg }) => (level === 40 && msg.includes(paths.dropIns) ? [msg] : []));

  beforeAll(async () => {
    programs = await StubPrograms.create();
    agent = await Agent.create({ containerd, environment: { PATH: `${programs.folder}:${path}` } });
    paths = managedPaths(agent.rootDir);
    await mkdir(paths.dropIns);
  });
  afterAll(async () => {
    await agent.cleanUp();
    await programs.remove();
  });

  test('starts with the files that it understands, and what is wrong with the others is logged', async () => {
    const runc = await programs.write('stub-runc', 'runc');
    await write(
      '10-stub.toml',
      runtimeOf('stub', `runtime_type = "io.containerd.runc.v2"\noptions.BinaryName = "${runc}"`),
    );
    await write('20-broken.toml', 'version = 2\n[grpc\n');
    await write('30-ours.toml', 'version = 2\nroot = "/elsewhere"\n');
    await write('40-old.toml', '[debug]\nlevel = "info"\n');
    await write('50-misspelt.toml', runtimeOf('stub', 'sandbox_typo = "x"'));
    await write('notes.txt', 'not read');
    await agent.start();
    const file = (name: string): string => join(paths.dropIns, name);
    expect(warnings().map((line) => line.replace(/containerd \d\S+/, 'containerd N'))).toEqual([
      expect.stringMatching(/20-broken\.toml is left out: containerd: failed to .*(\(2, 2\)|row 2 column 6)/),
      expect.stringMatching(
        /40-old\.toml is left out: containerd N needs version = 2( or version = 3)? at the top of it$/,
      ),
      `${file('50-misspelt.toml')}: containerd N does not know plugins."io.containerd.grpc.v1.cri".containerd.runtimes.stub.sandbox_typo, so it has no effect`,
      `${file('30-ours.toml')}: root is ignored, because kubelet-ts sets it`,
    ]);
  });

  test('a pod whose class has a handler of a drop-in runs with its program', async () => {
    await agent.write('class.yaml', classOf('stub'));
    await agent.write('stub.yaml', podOf('stub'));
    await agent.untilReady('stub');
    const { id } = await agent.runningContainer('stub');
    expect(await programs.calls('stub-runc')).toMatch(new RegExp(`create .*${id}`));
  });

  test('a drop-in for a shim is applied when the agent starts again, and pods go on', async () => {
    const [pid, container] = [await agent.containerdPid(), await agent.runningContainer('stub')];
    const usual = join((await findContainerd({ path })).containerd, '../containerd-shim-runc-v2');
    await programs.write('containerd-shim-stub-v1', usual);
    await write('60-shim.toml', runtimeOf('shim', 'runtime_type = "io.containerd.stub.v1"'));
    for (const isChanged of [true, false]) {
      await agent.stop();
      const before = await agent.containerdPid();
      await agent.start();
      expect((await agent.containerdPid()) !== before).toBe(isChanged);
    }
    expect(await agent.containerdPid()).not.toBe(pid);
    expect(await agent.runningContainer('stub')).toEqual(container);
    await agent.write('shim-class.yaml', classOf('shim'));
    await agent.write('shim.yaml', podOf('shim'));
    await agent.untilReady('shim');
    expect(await programs.calls('containerd-shim-stub-v1')).toMatch(/-namespace k8s\.io .* start$/m);
    expect(await findShims(paths.socket)).toHaveLength(2);
  });

  test('one with which containerd does not start is left out, with the others, and pods go on', async () => {
    const container = await agent.runningContainer('stub');
    await write(
      '70-default.toml',
      'version = 2\n[plugins."io.containerd.grpc.v1.cri".containerd]\ndefault_runtime_name = "absent"\n',
    );
    await agent.stop();
    const since = agent.logs.length;
    await agent.start();
    expect(warnings(since).filter((line) => line.includes('runs without'))).toEqual([
      `containerd runs without the files in ${paths.dropIns}, because it does not start with them: invalid plugin config: ` +
        'no corresponding runtime configured in `containerd.runtimes` for `containerd` `default_runtime_name = "absent"',
    ]);
    expect(await agent.runningContainer('stub')).toEqual(container);
    // It is not restarted for the same files, and the warning is repeated.
    await agent.stop();
    const [pid, sinceThen] = [await agent.containerdPid(), agent.logs.length];
    await agent.start();
    expect(await agent.containerdPid()).toBe(pid);
    expect(warnings(sinceThen)).toContainEqual(
      expect.stringContaining(`does not start with them: see ${paths.logFile}`),
    );
    await rm(join(paths.dropIns, '70-default.toml'));
    await agent.stop();
    await agent.start();
    await agent.untilReady('shim');
  });

  test('refuses what it cannot read, in its own words', async () => {
    const folder = await temporaryFolder();
    const installed = await findContainerd({ path });
    await writeFile(join(folder, '1.toml'), 'version = 2\nroot = 5\n');
    await writeFile(join(folder, '2.toml'), runtimeOf('a', 'runtime_type = 5'));
    await writeFile(join(folder, '3.toml'), `version = 2\nimports = ["${folder}/1.toml"]\n`);
    await writeFile(join(folder, '4.toml'), 'version = 9\n');
    await writeFile(join(folder, '5.toml'), 'a'.repeat(2 * 1024 * 1024));
    await mkdir(join(folder, '6.toml'));
    await symlink('/nowhere/7.toml', join(folder, '7.toml'));
    const { accepted, refused, stamp } = await readDropIns(folder, installed);
    expect({ accepted, stamp }).toEqual({ accepted: [], stamp: '' });
    expect(refused.map((line) => line.replace(`${folder}/`, ''))).toEqual([
      expect.stringMatching(/^1\.toml is left out: containerd: .*(convert|decode)/),
      expect.stringMatching(/^2\.toml is left out: containerd: .*(convert|decode)/),
      expect.stringMatching(/^3\.toml is left out: /),
      expect.stringMatching(/^4\.toml is left out: containerd/),
      `5.toml is left out: ${folder}/5.toml is larger than 1048576 bytes`,
      expect.stringMatching(/^6\.toml is left out: .* is a directory, not a regular file$/),
      '7.toml is left out: it is a broken link',
    ]);
  });
});
