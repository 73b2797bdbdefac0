import { readFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isAtLeast } from '../../src/containerd/containerd-version.ts';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import type { Finding } from '../../src/node/doctor/checks/finding.ts';
import { FakePlugin } from '../fakes/fake-plugin.ts';
import { Agent } from './agent.ts';
import { containerdReleases, inTurn } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { repository } from './program.ts';
import { StubPrograms } from './stub-programs.ts';

const page = await readFile(join(repository, 'docs/use/gpu-or-wasm.md'), 'utf8');
/** The files of the page: each block begins with a comment that has its path. */
const files = [...page.matchAll(/^```(?:toml|yaml)\n# (\S+)\n(.*?)^```$/gms)].map(([, path = '', text = '']) => ({
  name: basename(path),
  text,
}));
const fileOf = (name: string): string => files.find((file) => file.name === name)?.text ?? '';
const driver = '/usr/bin/nvidia-container-runtime';

describe.concurrent.each(containerdReleases())('with containerd $release', inTurn, (containerd) => {
  let agent: Agent;
  let programs: StubPrograms;
  const path = `${containerd.folder ?? ''}:${process.env['PATH'] ?? ''}`;

  const findings = async (check: string): Promise<string[]> => {
    const { stdout } = await agent.cli(['doctor', agent.manifestsFolder, '-o', 'json', '--healthz-port', '0']);
    const report = JSON.parse(stdout) as { findings: Finding[] };
    return report.findings.filter((one) => one.check === check).map(({ level, evidence }) => `${level}: ${evidence}`);
  };

  beforeAll(async () => {
    programs = await StubPrograms.create();
    agent = await Agent.create({ containerd, environment: { PATH: `${programs.folder}:${path}` } });
    await agent.start();
  });
  afterAll(async () => {
    await agent.cleanUp();
    await programs.remove();
  });

  test('the page leads from a driver to a running pod, and doctor names each step that is missing', async () => {
    const { dropIns } = managedPaths(agent.rootDir);
    const program = join(programs.folder, basename(driver));
    await mkdir(dropIns);
    await writeFile(join(dropIns, 'nvidia.toml'), fileOf('nvidia.toml').replace(driver, program));
    const missing = `problem: handler nvidia: ${program} is not installed`;
    const unknown = 'problem: handler nvidia: the running containerd does not know it yet';
    const unnamed = 'warning: handler nvidia: no RuntimeClass names it';
    expect(await findings('handlers')).toEqual([missing, unknown, unnamed]);
    await programs.write(basename(driver), 'runc');
    expect(await findings('handlers')).toEqual([unknown, unnamed]);
    const manifest = fileOf('cuda.yaml')
      .replace(/image: .*/, 'image: localhost/busybox:1')
      .replace(/command: .*/, `command: [sleep, '3600']`)
      .replace(/^spec:$/m, 'spec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 1');
    await agent.write('cuda.yaml', manifest);
    await agent.untilPod('cuda', ({ events }) =>
      events.some(
        ({ type, ...event }) => type === 'Recorded' && 'reason' in event && event.reason === 'FailedCreatePodSandBox',
      ),
    );
    expect(await findings('handlers')).toEqual([unknown]);
    await agent.stop();
    await agent.start();
    expect(await findings('handlers')).toEqual(['ok: handler nvidia: installed, RuntimeClass nvidia']);
    await agent.untilReady('cuda');
    const { id } = await agent.runningContainer('cuda');
    expect(await programs.calls(basename(driver))).toMatch(new RegExp(`create .*${id}`));
  });

  test('the shim of the wasm runtime is found by its type', async () => {
    const { dropIns } = managedPaths(agent.rootDir);
    await writeFile(join(dropIns, 'wasmtime.toml'), fileOf('wasmtime.toml'));
    const wasm = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'wasm' },
      handler: 'wasmtime',
    };
    await agent.write('class.yaml', wasm);
    await agent.write('wasm.yaml', makePod('wasm', { runtimeClassName: 'wasm', containers: [shell('main', serve)] }));
    await agent.stop();
    const usual = join((await findContainerd({ path })).containerd, '../containerd-shim-runc-v2');
    await programs.write('containerd-shim-wasmtime-v1', usual);
    await agent.start();
    await agent.untilReady('wasm');
    expect(await programs.calls('containerd-shim-wasmtime-v1')).toMatch(/ start$/m);
    expect(await findings('handlers')).toContain('ok: handler wasmtime: installed, RuntimeClass wasm');
  });

  test('a device plugin gives a container a device of a CDI file, and 1.6 says that it cannot', async () => {
    const kind = `kubelet-ts.test/gpu${String(process.pid)}${containerd.release.replaceAll(/\W/g, '')}`;
    const specFile = `/var/run/cdi/${kind.replace('/', '-')}.json`;
    const containerEdits = { env: ['GPU=0'], deviceNodes: [{ path: '/dev/gpu0', hostPath: '/dev/full' }] };
    await mkdir('/var/run/cdi', { recursive: true });
    await writeFile(specFile, JSON.stringify({ cdiVersion: '0.6.0', kind, devices: [{ name: '0', containerEdits }] }));
    onTestFinished(() => rm(specFile));
    expect(await findings('devices')).toContain(`ok: ${specFile} names ${kind}=0`);

    const plugin = new FakePlugin();
    const folder = join(agent.rootDir, 'device-plugins');
    await plugin.listen(join(folder, 'gpu.sock'));
    onTestFinished(() => plugin.stop(join(folder, 'gpu.sock')));
    plugin.send([{ ID: 'g0', health: 'Healthy' }]);
    plugin.answers['allocate'] = () => ({ containerResponses: [{ cdiDevices: [{ name: `${kind}=0` }] }] });
    const request = { endpoint: 'gpu.sock', resourceName: 'example.com/gpu' };
    expect(await plugin.register(join(folder, 'kubelet.sock'), request)).toBeUndefined();
    const resources = { limits: { 'example.com/gpu': '1' } };
    const script = `echo "GPU is $GPU" > /tmp/seen; test -c /dev/gpu0 && echo device >> /tmp/seen; ${serve}`;
    await agent.write('gpu.yaml', makePod('gpu', { containers: [shell('main', script, { resources })] }));
    const { version } = await findContainerd({ path });
    if (isAtLeast(version, 1, 7)) {
      await agent.untilReady('gpu');
      const { stdout } = await agent.cli(['exec', 'gpu', '--', 'cat', '/tmp/seen']);
      expect(stdout).toBe('GPU is 0\ndevice\n');
    } else {
      const refusal = `containerd ${version.major}.${version.minor} does not support CDI devices: ${kind}=0`;
      await agent.untilPod('gpu', ({ events }) =>
        events.some((event) => event.type === 'Recorded' && event.message === `Error: ${refusal}`),
      );
      expect(await findings('devices')).toContain(
        `warning: containerd ${version.text} has no CDI, so pods with these devices do not start`,
      );
    }
  });
});
