import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { cgroupFolders } from './leftovers.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';
import { program } from './program.ts';

/** As kubeadm 1.20 wrote them, and the unit of systemd around them. */
const kubeadmFlags =
  '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf ' +
  '--container-runtime=remote --network-plugin=cni --cni_bin_dir=/opt/cni/bin --logtostderr=true --v 2 ' +
  '--pod-infra-container-image=k8s.gcr.io/pause:3.2 --register-with-taints=';

let agent: Agent;
/** Says what the flags of the agent say. */
let configuration: string;

beforeAll(async () => {
  agent = await startAgent({
    manifests: { 'web.json': makePod('web', { containers: [shell('app', serve)] }) },
    flags: kubeadmFlags.split(' '),
  });
  await agent.untilReady('web');
  configuration = join(agent.rootDir, 'kubelet.json');
  await writeFile(
    configuration,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      featureGates: { ImageVolume: true },
      podLogsDir: agent.podLogsDir,
      cgroupRoot: agent.cgroupRoot,
    }),
  );
});
afterAll(() => agent.cleanUp());

test('flags that kubelets dropped are warnings that say since when they are refused', () => {
  const warnings = agent.logs.filter(({ msg }) => msg.includes('; kubelets since Kubernetes '));
  const cni =
    'without effect here: network plugins are set up at the container runtime; kubelets since Kubernetes 1.24 refuse it';
  const dropped = new Map(warnings.map(({ origin, level, msg }) => [origin, { level, msg }]));
  const older = ['--cni-bin-dir', '--container-runtime', '--logtostderr', '--network-plugin'];
  expect([...dropped.keys()]).toEqual([...older, '--pod-infra-container-image']);
  expect(dropped.get('--cni-bin-dir')).toEqual({ level: 40, msg: cni });
});

test('diff takes the feature gates of the node, from its file and from flags', async () => {
  const volumes = [{ name: 'tools', image: { reference: busybox } }];
  const gated = JSON.stringify(makePod('gated', { containers: [shell('app', serve)], volumes }));
  const diff = async (...flags: string[]): Promise<object> => {
    const { code, stdout } = await agent.cli(['diff', ...flags, '-'], { input: gated });
    return { code, started: stdout.split('\n').filter((line) => line.startsWith('+')) };
  };
  const starts = { code: 1, started: ['+ start    default/gated-edge1 (no pod with this name runs)'] };
  expect(await diff()).toEqual(starts);
  expect(await diff('--feature-gates', 'ImageVolume=true')).toEqual(starts);
  expect(await diff('--config', configuration)).toEqual(starts);
});

test('down finds logs and cgroups where the configuration of the node says', async () => {
  await agent.kill9();
  const down = ['down', '--root-dir', agent.rootDir, '--config', configuration];
  const { exitCode, stdout, stderr } = await execa(program, down, { env: agent.environment, reject: false });
  const cgroups = (await cgroupFolders(agent.cgroupRoot)).filter((folder) => folder.includes('kubepods'));
  expect({ exitCode, stdout, stderr, logs: await readdir(agent.podLogsDir), cgroups }).toEqual({
    exitCode: 0,
    stdout: 'pod default/web-edge1 removed',
    stderr: '',
    logs: [],
    cgroups: [],
  });
});
