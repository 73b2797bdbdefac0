import { Command } from 'commander';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { defaultFeatureGates } from '../../../src/api/values/feature-gates.ts';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, type NodeOptions, nodeOptions } from '../../../src/node/options/node-options.ts';
import { BrokenConfiguration } from '../../../src/node/options/read-configuration.ts';
import { UserError } from '../../../src/errors.ts';
import { defaultConfiguration } from '../../builders/default-configuration.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What `run` makes of these arguments. */
async function optionsOf(...args: string[]): Promise<NodeOptions> {
  const command = addNodeOptions(new Command('run'))
    .argument('[manifests...]')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse(args, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), command.args);
}

test("the defaults are the kubelet's", async () => {
  const secrets = new SecretValues();
  secrets.set('manifest URLs', []);
  secrets.set('status URLs', []);
  expect(await optionsOf('--hostname-override', 'edge1', '--node-ip', '192.0.2.1')).toEqual({
    ...defaultConfiguration,
    configuration: defaultConfiguration,
    cgroupDriver: 'cgroupfs',
    enforceNodeAllocatable: ['pods'],
    featureGates: defaultFeatureGates,
    manifestPaths: [],
    manifestURLs: [],
    manifestURLHeaders: [],
    statusURLs: [],
    statusURLHeaders: [],
    statusURLFiles: {},
    manifestURLCosignKeyFiles: [],
    manifestURLFiles: {},
    manifestURLTrust: { sha256: [], publicKeys: [] },
    rootDir: '/var/lib/kubelet-ts',
    nodeName: 'edge1',
    nodeIPs: ['192.0.2.1'],
    nodeLabels: {},
    networkPluginMTU: undefined,
    serviceCIDR: '',
    keepDamagedStore: false,
    containerGC: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
    imageCredentialProviderConfig: '',
    imageCredentialProviderBinDir: '',
    certDir: '/var/lib/kubelet-ts/pki',
    tokenAuthFile: '',
    authorizationPolicyFile: '',
    refusesSwap: false,
    inPlace: true,
    offline: false,
    prune: false,
    leaveOrphans: false,
    runtimeRootDir: expect.any(String) as string,
    secrets,
    warnings: [],
    unusedFields: [],
    flags: expect.any(Object) as object,
  });
});

const systemdUnit = [
  '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
  '--kubeconfig=/etc/kubernetes/kubelet.conf',
];

describe('the command line of a kubelet that kubeadm wrote', () => {
  test.each([
    [
      '1.18',
      '--cgroup-driver=systemd --network-plugin=cni --pod-infra-container-image=k8s.gcr.io/pause:3.2',
      [
        '--network-plugin: kubelets since Kubernetes 1.24 refuse it',
        '--pod-infra-container-image: kubelets since Kubernetes 1.35 refuse it',
      ],
      { cgroupDriver: 'systemd', containerRuntimeEndpoint: '' },
    ],
    [
      '1.20',
      '--container-runtime=remote --container-runtime-endpoint=/run/containerd/containerd.sock --network-plugin=cni ' +
        '--cni-bin-dir=/opt/cni/bin --cni-conf-dir=/etc/cni/net.d --resolv-conf=/run/systemd/resolve/resolv.conf ' +
        '--logtostderr=true --v 2',
      [
        '--cni-bin-dir: kubelets since Kubernetes 1.24 refuse it',
        '--cni-conf-dir: kubelets since Kubernetes 1.24 refuse it',
        '--container-runtime: kubelets since Kubernetes 1.27 refuse it',
        '--logtostderr: kubelets since Kubernetes 1.26 refuse it',
        '--network-plugin: kubelets since Kubernetes 1.24 refuse it',
      ],
      { containerRuntimeEndpoint: '/run/containerd/containerd.sock', resolvConf: '/run/systemd/resolve/resolv.conf' },
    ],
    [
      '1.24',
      '--container-runtime=remote --container-runtime-endpoint=unix:///var/run/containerd/containerd.sock ' +
        '--pod-infra-container-image=k8s.gcr.io/pause:3.7',
      [
        '--container-runtime: kubelets since Kubernetes 1.27 refuse it',
        '--pod-infra-container-image: kubelets since Kubernetes 1.35 refuse it',
      ],
      { containerRuntimeEndpoint: 'unix:///var/run/containerd/containerd.sock' },
    ],
    [
      '1.32',
      '--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock --hostname-override=edge1 ' +
        '--pod-infra-container-image=registry.k8s.io/pause:3.10 --register-with-taints= --node-ip=192.0.2.7 -v=2',
      ['--pod-infra-container-image: kubelets since Kubernetes 1.35 refuse it'],
      { nodeName: 'edge1', nodeIPs: ['192.0.2.7'], registerWithTaints: [] },
    ],
  ])('%s works as it is', async (_version, line, dropped, expected) => {
    const options = await optionsOf(...systemdUnit, ...line.split(' '));
    const warnings = options.warnings.map(({ origin, message }) => `${origin}: ${message.split('; ').at(-1) ?? ''}`);
    expect(warnings.filter((warning) => warning.includes('since Kubernetes'))).toEqual(dropped);
    expect(options).toMatchObject(expected);
  });

  test('may have underscores in the names of flags, as the kubelet allows', async () => {
    expect(await optionsOf('--cluster_dns=10.0.0.1', '--cluster_domain', 'a_b')).toMatchObject({
      clusterDNS: ['10.0.0.1'],
      clusterDomain: 'a_b',
    });
  });

  test('may have flags with empty values, which are ignored', async () => {
    const names = [
      ...['hostname-override', 'node-ip', 'pod-manifest-path', 'manifest-url', 'config', 'node-labels'],
      ...['root-dir', 'pod-logs-dir', 'manifest-url-ca-file', 'manifest-url-token-file'],
    ];
    const options = await optionsOf(...names.map((name) => `--${name}=`));
    expect(options).toEqual({ ...(await optionsOf()), flags: options.flags });
  });
});

describe('an unknown flag is refused', () => {
  test.each([
    ['--pod-manifst-path=/x', 'unknown flag: --pod-manifst-path', 'Did you mean --pod-manifest-path?'],
    ['--network-plugn=cni', 'unknown flag: --network-plugn', 'Did you mean --network-plugin?'],
    ['--no-such-thing', 'unknown flag: --no-such-thing', 'kubelet-ts run --help lists the flags.'],
  ])('%s', async (flag, message, hint) => {
    await expect(optionsOf(flag)).rejects.toMatchObject({ message, hint });
  });
});

test('a URL in the place of a path is refused, because the agent would wait for a file of that name', async () => {
  await expect(optionsOf('https://box.example/pods.yaml')).rejects.toMatchObject({
    message: 'a URL is neither a file nor a folder',
    hint: expect.stringContaining('--manifest-url URL') as string,
  });
});

describe('a flag', () => {
  test('and an argument for manifests may be there several times, relative to where we are', async () => {
    expect((await optionsOf('a', '--pod-manifest-path', '/b', 'c/', '--pod-manifest-path', 'd')).manifestPaths).toEqual(
      [`${process.cwd()}/a`, `${process.cwd()}/c`, '/b', `${process.cwd()}/d`],
    );
  });

  test('of addresses takes several at once or one after the other', async () => {
    const { nodeIPs, clusterDNS } = await optionsOf(
      '--node-ip',
      '192.0.2.1,2001:db8::1',
      '--cluster-dns',
      '10.0.0.1',
      '--cluster-dns',
      '10.0.0.2',
    );
    expect({ nodeIPs, clusterDNS }).toEqual({
      nodeIPs: ['192.0.2.1', '2001:db8::1'],
      clusterDNS: ['10.0.0.1', '10.0.0.2'],
    });
  });

  test('of the node name makes it lower case, without space around it', async () => {
    expect((await optionsOf('--hostname-override', ' Edge1.Example ')).nodeName).toBe('edge1.example');
  });

  test.each([
    ['20s', 20_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
  ])('of a duration takes %s', async (text, ms) => {
    expect(await optionsOf('--file-check-frequency', text, '--http-check-frequency', text)).toMatchObject({
      fileCheckFrequency: ms,
      httpCheckFrequency: ms,
    });
  });

  test('of reserved amounts takes several at once or one after the other', async () => {
    const flags = ['--system-reserved=cpu=500m,memory=1Gi', '--system-reserved=pid=1000', '--kube-reserved=cpu=1'];
    expect(await optionsOf(...flags)).toMatchObject({
      systemReserved: { cpu: '500m', memory: '1Gi', pid: '1000' },
      kubeReserved: { cpu: '1' },
    });
  });

  test.each([
    [['--cgroups-per-qos', '--cpu-cfs-quota'], true],
    [['--cgroups-per-qos=false', '--cpu-cfs-quota=false'], false],
  ])('that is true or false is read as Go reads it: %j', async (flags, value) => {
    expect(await optionsOf(...flags)).toMatchObject({ cgroupsPerQOS: value, cpuCFSQuota: value });
  });

  test.each([
    [['--cgroups-per-qos=false'], []],
    [['--enforce-node-allocatable=none'], []],
    [['--enforce-node-allocatable='], []],
    [
      ['--enforce-node-allocatable=pods,kube-reserved', '--kube-reserved-cgroup=/agent'],
      ['pods', 'kube-reserved'],
    ],
  ])('of what is enforced is read as the kubelet reads it: %j', async (flags, enforced) => {
    expect((await optionsOf(...flags)).enforceNodeAllocatable).toEqual(enforced);
  });

  test('of labels takes those of a prefix that nodes may use', async () => {
    const nodeLabels = { disk: 'ssd', 'node.kubernetes.io/site': 'roof', 'topology.kubernetes.io/zone': 'a' };
    const text = Object.entries(nodeLabels).map((pair) => pair.join('='));
    expect((await optionsOf('--node-labels', text.join(','))).nodeLabels).toEqual(nodeLabels);
  });

  test.each([
    ['--system-reserved', 'cpu'],
    ['--system-reserved', 'cpu=lots'],
    ['--system-reserved', 'memory=-1Gi'],
    ['--kube-reserved', 'gpu=1'],
    ['--enforce-node-allocatable', 'everything'],
    ['--enforce-node-allocatable', 'none,pods'],
    ['--enforce-node-allocatable', 'pods,pods'],
    ['--enforce-node-allocatable', 'system-reserved'],
    ['--enforce-node-allocatable', 'kube-reserved,kube-reserved-compressible'],
    ['--pod-max-pids', 'many'],
    ['--cpu-cfs-quota-period', '2s'],
    ['--node-labels', 'disk'],
    ['--node-labels', 'disk=a b'],
    ['--node-labels', 'example.kubernetes.io/site=roof'],
    ['--file-check-frequency', '20'],
    ['--file-check-frequency', 'soon'],
    ['--file-check-frequency', '-5s'],
    ['--max-pods', '1.5'],
    ['--max-pods', '-1'],
    ['--healthz-port', 'none'],
    ['--cgroup-driver', 'cgroupv2'],
    ['--hostname-override', ' '],
    ['--hostname-override', 'a/b'],
    ['--hostname-override', '..'],
    ['--hostname-override', 'a\nb'],
    ['--hostname-override', 'my_host'],
    ['--hostname-override', 'a'.repeat(254)],
  ])('%s refuses "%s"', async (flag, value) => {
    await expect(optionsOf(flag, value)).rejects.toThrow();
  });

  test.each([
    ['0:cpu=1', '"cpu" is not a kind of memory. Write memory or hugepages-2Mi.'],
    ['0:memory=lots', '"lots" is not an amount of memory. Write an amount such as 1Gi.'],
    ['0:memory=1Gi:x', '"0:memory=1Gi:x" does not have one :. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.'],
    ['0', '"0" does not have one :. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.'],
    ['0:memory=1Gi;', '"" does not have one :. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.'],
    ['0:memory=1=2', '"memory=1=2" does not have one =. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.'],
    [' 0:memory=1Gi', '" 0" is not the number of a NUMA node.'],
    ['=0:memory=1Gi', '"=0" is not the number of a NUMA node.'],
    ['0: memory=1Gi', '" memory" is not a kind of memory. Write memory or hugepages-2Mi.'],
    ['0:memory= 1Gi', '" 1Gi" is not an amount of memory. Write an amount such as 1Gi.'],
    ['0:hugepages-2Mi=', '"" is not an amount of hugepages-2Mi. Write an amount such as 1Gi.'],
    ['0:memory=1Gi,', '"" does not have one =. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.'],
  ])('of memory by NUMA node names the wrong part: %s', async (text, problem) => {
    await expect(optionsOf('--reserved-memory', text)).rejects.toThrow(problem);
  });

  test.each([
    ['+1:memory=1Gi', [{ numaNode: 1, limits: { memory: '1Gi' } }]],
    ['0:memory=1Gi,memory=2Gi', [{ numaNode: 0, limits: { memory: '2Gi' } }]],
  ])('of memory by NUMA node accepts what the kubelet does: "%s"', async (text, reservedMemory) => {
    expect((await optionsOf(`--reserved-memory=${text}`)).reservedMemory).toEqual(reservedMemory);
  });

  test('of memory by NUMA node writes amounts as the kubelet shows them', async () => {
    expect(await optionsOf('--reserved-memory=0:memory=1.5Gi,hugepages-2Mi=2048Ki')).toMatchObject({
      reservedMemory: [{ numaNode: 0, limits: { memory: '1536Mi', 'hugepages-2Mi': '2Mi' } }],
    });
  });

  test.each([
    ['--port=0', 'port: 0 must be between 1 and 65535, inclusive'],
    ['--authorization-mode=', 'authorization.mode: "" must be one of: "AlwaysAllow", "Webhook"'],
    ['--hairpin-mode=', 'hairpinMode: "" must be one of: "none", "hairpin-veth", "promiscuous-bridge"'],
    [
      '--topology-manager-policy=',
      'topologyManagerPolicy: "" must be one of: "none", "best-effort", "restricted", "single-numa-node"',
    ],
    ['--topology-manager-scope=', 'topologyManagerScope: "" must be one of: "container", "pod"'],
    [
      '--container-log-max-size=',
      'containerLogMaxSize: "" must be a whole number of bytes such as "10Mi", below 100Ti',
    ],
    ['--logging-format=', 'logging.format: "" must be one of: "text", "json"'],
    ['--sync-frequency=0', 'syncFrequency: 0s must be positive'],
  ])('of zero differs from an absent value: %s', async (flag, problem) => {
    const [name = ''] = flag.split('=');
    const message = `the configuration is invalid\n${name}: error: ${problem}`;
    await expect(optionsOf(flag)).rejects.toThrow(new UserError(message));
  });

  test.each([
    ['0x10', 16],
    ['0X1f', 31],
    ['010', 8],
    ['0o10', 8],
    ['0b11', 3],
    ['1_0', 10],
    ['0x_1_0', 16],
    ['+7', 7],
    ['2147483647', 2_147_483_647],
  ])('of a number takes %s', async (text, maxPods) => {
    expect(await optionsOf(`--max-pods=${text}`)).toMatchObject({ maxPods });
  });

  test.each(['', '08', '0x', '0b2', '1__0', '_1', '1_', '1.0', '1e3', ' 1', '2147483648', '-2147483649', '0x80000000'])(
    'of a number with 32 bits refuses "%s"',
    async (text) => {
      await expect(optionsOf(`--max-pods=${text}`)).rejects.toThrow(
        'It must be a whole number from -2147483648 to 2147483647.',
      );
    },
  );

  test('of a number with 64 bits takes more', async () => {
    expect(await optionsOf('--pod-max-pids=2147483648')).toMatchObject({ podPidsLimit: 2_147_483_648 });
    const tooMany = optionsOf('--pod-max-pids=9223372036854775808');
    await expect(tooMany).rejects.toThrow(
      'It must be a whole number from -9223372036854775808 to 9223372036854775807.',
    );
  });

  test('of zero stays where zero is allowed', async () => {
    const flags = ['max-pods', 'registry-burst', 'minimum-image-ttl-duration', 'streaming-connection-idle-timeout'];
    expect(await optionsOf(...flags.map((flag) => `--${flag}=0`))).toMatchObject({
      maxPods: 0,
      registryBurst: 0,
      imageMinimumGCAge: 0,
      streamingConnectionIdleTimeout: 0,
    });
  });

  test('of an address without a value changes nothing', async () => {
    expect(await optionsOf('--address=', '--healthz-bind-address=', '--cgroup-driver=')).toMatchObject({
      address: '0.0.0.0',
      healthzBindAddress: '127.0.0.1',
      cgroupDriver: 'cgroupfs',
    });
  });

  test('that is true or false takes no value from the next word', async () => {
    const { seccompDefault, manifestPaths } = await optionsOf('--seccomp-default', 'pods', '--', '--cgroups-per-qos');
    expect({ seccompDefault, manifestPaths }).toEqual({
      seccompDefault: true,
      manifestPaths: [`${process.cwd()}/pods`, `${process.cwd()}/--cgroups-per-qos`],
    });
  });

  test('--offline may come from the environment instead', async () => {
    vi.stubEnv('KUBELET_TS_OFFLINE', 'true');
    expect([(await optionsOf()).offline, (await optionsOf('--offline=false')).offline]).toEqual([true, false]);
  });

  test('of pulls at a time does not have to allow them besides', async () => {
    expect(await optionsOf('--max-parallel-image-pulls=3')).toMatchObject({
      maxParallelImagePulls: 3,
      serializeImagePulls: false,
    });
    await expect(optionsOf('--max-parallel-image-pulls=3', '--serialize-image-pulls')).rejects.toThrow(
      '--max-parallel-image-pulls: error: maxParallelImagePulls: cannot be larger than 1',
    );
  });
});

describe('the command line of a kubelet', () => {
  test('of kubeadm works as it is, and tells what of it has no effect', async () => {
    const file = await writeTemporary('config.yaml', 'staticPodPath: manifests\nrotateCertificates: true\n');
    const { nodeName, nodeIPs, nodeLabels, manifestPaths, warnings, unusedFields, ...options } = await optionsOf(
      '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
      '--kubeconfig=/etc/kubernetes/kubelet.conf',
      `--config=${file}`,
      '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
      '--pod-infra-container-image=registry.k8s.io/pause:3.10',
      '--node-ip=192.0.2.1',
      '--hostname-override=edge1',
      '--cgroup-driver=systemd',
      '--node-labels=node.kubernetes.io/site=roof',
      '--register-with-taints=node-role.kubernetes.io/control-plane:NoSchedule',
      '--v=2',
    );
    expect({ nodeName, nodeIPs, nodeLabels, manifestPaths, warnings, unusedFields }).toEqual({
      nodeName: 'edge1',
      nodeIPs: ['192.0.2.1'],
      nodeLabels: { 'node.kubernetes.io/site': 'roof' },
      manifestPaths: [join(dirname(file), 'manifests')],
      warnings: [
        warningOf('--bootstrap-kubeconfig', 'there is no API server'),
        warningOf('--kubeconfig', 'there is no API server'),
        warningOf(
          '--pod-infra-container-image',
          'the runtime chooses the pause image; kubelets since Kubernetes 1.35 refuse it',
        ),
      ],
      unusedFields: [
        { field: 'rotateCertificates', reason: 'needs an API server' },
        { field: 'registerWithTaints', reason: 'needs an API server' },
      ],
    });
    expect(options).toMatchObject({
      containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
      cgroupDriver: 'systemd',
      registerWithTaints: [{ key: 'node-role.kubernetes.io/control-plane', value: '', effect: 'NoSchedule' }],
      logging: { ...defaultConfiguration.logging, verbosity: 2 },
    });
  });

  test.each<[string, object]>([
    [
      '--eviction-hard=memory.available<1Gi,nodefs.available<5%',
      { evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '5%' } },
    ],
    ['--eviction-policy=kubelet', { evictionPolicy: 'kubelet' }],
    ['--eviction-minimum-reclaim=nodefs.available=1Gi', { evictionMinimumReclaim: { 'nodefs.available': '1Gi' } }],
    [
      '--feature-gates=EventedPLEG=true,EnvFiles=false',
      { featureGates: { ...defaultFeatureGates, EventedPLEG: true, EnvFiles: false } },
    ],
    ['--register-with-taints=a=b:NoSchedule', { registerWithTaints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] }],
    [
      '--reserved-memory=0:memory=1Gi;1:memory=2Gi',
      {
        reservedMemory: [
          { numaNode: 0, limits: { memory: '1Gi' } },
          { numaNode: 1, limits: { memory: '2Gi' } },
        ],
      },
    ],
    [
      '--vmodule=pleg=4',
      { logging: { ...defaultConfiguration.logging, vmodule: [{ filePattern: 'pleg', verbosity: 4 }] } },
    ],
    ['-v=4', { logging: { ...defaultConfiguration.logging, verbosity: 4 } }],
    ['--oom-score-adj=-998', { oomScoreAdj: -998 }],
    ['--pod-logs-dir=logs/', { podLogsDir: `${process.cwd()}/logs` }],
    ['--cgroup-driver=systemd', { cgroupDriver: 'systemd' }],
  ])('%s sets its field', async (flag, fields) => {
    expect(await optionsOf(flag)).toMatchObject(fields);
  });

  test('--eviction-hard replaces all defaults', async () => {
    const { evictionHard } = await optionsOf('--eviction-hard=memory.available<200Mi,nodefs.available<5%');
    expect(evictionHard).toEqual({ 'memory.available': '200Mi', 'nodefs.available': '5%' });
  });
});

test.each(['authentication', 'authorization'])('a flag that asks for a webhook of %s is an error', async (kind) => {
  const flag = kind === 'authentication' ? '--authentication-token-webhook=true' : '--authorization-mode=Webhook';
  await expect(optionsOf(flag)).rejects.toThrow(`no client provided, cannot use webhook ${kind}`);
});

describe('a configuration file', () => {
  test('has its paths relative to its own folder, and a flag wins over it', async () => {
    const file = await writeTemporary(
      'kubelet.yaml',
      'staticPodPath: pods\npodLogsDir: logs/\nresolvConf: /etc/other.conf\nmaxPods: 9\nport: 9\n' +
        'authentication: {x509: {clientCAFile: ca.crt}}\nstaticPodURL: https://a.example/\n' +
        'staticPodURLHeader: {A: [b, c]}\n',
    );
    const folder = dirname(file);
    const fromFile = {
      manifestPaths: [join(folder, 'pods')],
      podLogsDir: join(folder, 'logs'),
      resolvConf: '/etc/other.conf',
      maxPods: 9,
      port: 9,
      authentication: { ...defaultConfiguration.authentication, x509: { clientCAFile: join(folder, 'ca.crt') } },
      manifestURLs: ['https://a.example/'],
      manifestURLHeaders: [
        ['A', 'b'],
        ['A', 'c'],
      ],
    };
    expect(await optionsOf('--config', file)).toMatchObject(fromFile);
    const flags = ['--pod-manifest-path=/other', '--max-pods=10', '--manifest-url=https://b.example/'];
    expect(await optionsOf('--config', file, ...flags, '--manifest-url-header=D:e')).toMatchObject({
      ...fromFile,
      manifestPaths: ['/other'],
      maxPods: 10,
      manifestURLs: ['https://b.example/'],
      manifestURLHeaders: [['D', 'e']],
    });
  });

  test('has drop-ins laid over it in the order of their names, folders among files', async () => {
    const file = await writeTemporary('kubelet.yaml', 'maxPods: 1\npodsPerCore: 1\nport: 1\nclusterDomain: a\n');
    const folder = join(dirname(file), 'kubelet.conf.d');
    await mkdir(join(folder, '20-site'), { recursive: true });
    await writeFile(join(folder, '10-a.conf'), `${head}maxPods: 2\npodsPerCore: 2\nport: 2\n`);
    await writeFile(join(folder, '20-site', '99.conf'), `${head}podsPerCore: 3\nport: 3\n`);
    await writeFile(join(folder, '30-b.conf'), `${head}port: 4\nstaticPodPath: pods\n`);
    await writeFile(join(folder, '40-b.yaml'), 'not read');
    const message = 'ignored: the kubelet reads only *.conf in --config-dir; rename the file or remove it';
    expect(await optionsOf('--config', file, '--config-dir', folder)).toMatchObject({
      warnings: [{ origin: join(folder, '40-b.yaml'), message, severity: 'warning' }],
      maxPods: 2,
      podsPerCore: 3,
      port: 4,
      clusterDomain: 'a',
      // Relative to where we are, as in the kubelet.
      manifestPaths: [join(process.cwd(), 'pods')],
    });
  });

  test('is refused with a relative folder of logs in a drop-in', async () => {
    const drop = await writeTemporary('10-a.conf', 'podLogsDir: logs\n');
    await expect(optionsOf('--config-dir', dirname(drop))).rejects.toThrow(
      `${drop}:3:13: error: podLogsDir: "logs" must be an absolute path`,
    );
  });

  test('is refused with every mistake in it and its drop-ins', async () => {
    const file = await writeTemporary('kubelet.yaml', 'maxPods: many\n');
    const folder = join(dirname(file), 'drop-ins');
    await mkdir(folder);
    await writeFile(join(folder, 'a.conf'), 'kind: KubeletConfiguration\n');
    await expect(optionsOf('--config', file, '--config-dir', folder)).rejects.toThrow(
      'the configuration is invalid\n' +
        `${file}:3:10: error: maxPods: Expected an integer, found the string "many"\n` +
        `${folder}/a.conf:1:1: error: apiVersion: apiVersion is missing ` +
        '(A configuration starts with "apiVersion: kubelet.config.k8s.io/v1beta1" and "kind: KubeletConfiguration".)',
    );
  });

  test('is refused with its warnings, and with the mistakes of other flags', async () => {
    const file = await writeTemporary('kubelet.yaml', 'maxPod: 1\nmaxPods: -1\n');
    const flags = ['--node-labels', 'a b=c', '--manifest-url', 'ftp://box.example', '--hostname-override', 'a b'];
    const refusal = (await optionsOf('--config', file, ...flags).catch((error: unknown) => error)) as UserError;
    expect(refusal).toBeInstanceOf(BrokenConfiguration);
    expect([refusal.message.split('\n').map((line) => line.split(/: |, | \(/)[0]), refusal.hint]).toEqual([
      [
        'the configuration is invalid',
        `${file}:3:1`,
        `${file}:4:10`,
        '--manifest-url ftp://… is not a URL of manifests',
        'the name of the node',
        '--node-labels',
      ],
      undefined,
    ]);
  });

  test('is refused as before when one thing alone is wrong', async () => {
    await expect(optionsOf('--hostname-override', 'a b')).rejects.toMatchObject({
      hint: 'Set the host name, or use --hostname-override NAME.',
    });
  });

  test('warns of what it does not know', async () => {
    const file = await writeTemporary('kubelet.yaml', 'maxPod: 1\n');
    expect((await optionsOf('--config', file)).warnings).toEqual([
      {
        origin: file,
        line: 3,
        column: 1,
        field: 'maxPod',
        message: 'Unknown field "maxPod" is ignored',
        hint: 'Did you mean "maxPods"?',
        severity: 'warning',
      },
    ]);
  });

  test('has to be there', async () => {
    await expect(optionsOf('--config', '/nowhere/kubelet.yaml')).rejects.toThrow(
      'the configuration /nowhere/kubelet.yaml cannot be read: no such file',
    );
    await expect(optionsOf('--config-dir', '/nowhere')).rejects.toThrow(
      'the folder /nowhere of --config-dir cannot be read: no such folder',
    );
  });
});

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

async function writeTemporary(name: string, body: string): Promise<string> {
  const path = join(await temporaryFolder(), name);
  await writeFile(path, head + body);
  return path;
}

const warningOf = (origin: string, reason: string): object => ({
  origin,
  message: `without effect here: ${reason}`,
  severity: 'warning',
});

test('secrets of manifest URLs and their headers are hidden', async () => {
  const { secrets } = await optionsOf(
    ...['--hostname-override', 'edge1', '--manifest-url', 'https://ada:p4ss%2Dword@box.example/pods?key=quer%79-value'],
    ...['--manifest-url-header', 'Authorization: Bearer header-token', '--manifest-url-header', 'X-Box: other-header'],
  );
  const told = 'p4ss%2Dword p4ss-word ?key=quer%79-value query-value, Bearer header-token, header-token, other-header';
  expect(secrets.hide(told)).toBe('<hidden> <hidden> ?<hidden> <hidden>, <hidden>, <hidden>, <hidden>');
});

describe('swap is refused', () => {
  test.each([
    ['', [], false],
    ['failSwapOn: true', [], true],
    ['failSwapOn: false', [], false],
    ['', ['--fail-swap-on'], true],
    ['failSwapOn: true', ['--fail-swap-on=false'], false],
  ])('only if the user says so: file %j, flags %j', async (field, flags, refusesSwap) => {
    const path = await writeTemporary('kubelet.yaml', field);
    expect((await optionsOf('--config', path, ...flags)).refusesSwap).toBe(refusesSwap);
  });
});

test.each([
  [
    ['--image-credential-provider-config', 'a'],
    'Add --image-credential-provider-bin-dir, or leave out --image-credential-provider-config.',
  ],
  [
    ['--image-credential-provider-bin-dir', 'a'],
    'Add --image-credential-provider-config, or leave out --image-credential-provider-bin-dir.',
  ],
])('%j is refused without its other half', async (args, hint) => {
  await expect(optionsOf(...args)).rejects.toMatchObject({
    name: 'UserError',
    message: '--image-credential-provider-config and --image-credential-provider-bin-dir need each other',
    hint,
  });
});

test.each([
  ['--system-reserved', 'cpu=1,Foo', '"Foo" has no =. Write it as NAME=VALUE.'],
  ['--eviction-hard', 'memory.available', '"memory.available" has no <. Write it as NAME<VALUE.'],
])('%s %s is refused with its form', async (flag, text, message) => {
  await expect(optionsOf(flag, text)).rejects.toMatchObject({ message: expect.stringContaining(message) as string });
});

test.each([
  ['192.0.2.1,2001:DB8::0:1', ['192.0.2.1', '2001:db8::1']],
  ['192.0.2.1,,hello', ['192.0.2.1']],
  ['300.1.1.1,::1', ['::1']],
])('--node-ip %s names the addresses %j', async (words, nodeIPs) => {
  expect((await optionsOf('--node-ip', words)).nodeIPs).toEqual(nodeIPs);
});

test('a text of --node-ip that is not an address is ignored, with a warning', async () => {
  const { nodeIPs, warnings } = await optionsOf('--node-ip', 'hello');
  expect(nodeIPs).toEqual((await optionsOf()).nodeIPs);
  expect(warnings).toEqual([
    { origin: '--node-ip', message: '"hello" is not an IP address and was ignored', severity: 'warning' },
  ]);
});

test('an unspecified --node-ip has the address detected', async () => {
  expect((await optionsOf('--node-ip', '0.0.0.0')).nodeIPs).toEqual((await optionsOf()).nodeIPs);
});

test.each([
  ['192.0.2.1,192.0.2.2', 'must contain either a single IP or a dual-stack pair of IPs'],
  ['192.0.2.1,::1,192.0.2.2', 'must contain either a single IP or a dual-stack pair of IPs'],
  ['0.0.0.0,::1', "dual-stack node IPs cannot include '0.0.0.0' or '::'"],
])('--node-ip %s is refused: %s', async (words, reason) => {
  await expect(optionsOf('--node-ip', words)).rejects.toMatchObject({
    message: `bad --node-ip "${words}": ${reason}`,
    hint: 'Give one address, or one of IPv4 and one of IPv6.',
  });
});
