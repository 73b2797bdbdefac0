import { describe, expect, test } from 'vitest';
import { decodeKubeletConfiguration } from '../../../src/api/kubelet-configuration/decode.ts';
import {
  type ConfigurationLayer,
  documentLayer,
  resolveKubeletConfiguration,
} from '../../../src/api/kubelet-configuration/resolve.ts';
import type { GivenConfiguration, KubeletConfiguration } from '../../../src/api/kubelet-configuration/types.ts';
import { defaultConfiguration } from '../../builders/default-configuration.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

function layerOf(origin: string, body: string): ConfigurationLayer {
  const { given, document } = decodeKubeletConfiguration(head + body, origin);
  if (!given || !document) throw new Error(`${body} does not decode`);
  return documentLayer(given, document);
}

function flagLayer(given: GivenConfiguration): ConfigurationLayer {
  return { given, origin: 'flags', positionOf: (field) => (field in given ? { origin: `--${field}` } : undefined) };
}

interface Row {
  file?: string;
  dropIns?: string[];
  flags?: GivenConfiguration;
  differs: Partial<KubeletConfiguration>;
}

describe('of a file, drop-ins and flags', () => {
  test.each<[string, Row]>([
    ['nothing is the defaults', { differs: {} }],
    [
      'mergeDefaultEvictionSettings keeps the defaults of signals that evictionHard leaves out',
      {
        dropIns: ['evictionHard: {memory.available: 2Mi}\nmergeDefaultEvictionSettings: true'],
        file: 'evictionHard: {pid.available: 5%}',
        differs: {
          mergeDefaultEvictionSettings: true,
          evictionHard: { ...defaultConfiguration.evictionHard, 'memory.available': '2Mi', 'pid.available': '5%' },
        },
      },
    ],
    [
      'a flag replaces evictionHard whole, also where defaults are merged',
      {
        file: 'mergeDefaultEvictionSettings: true',
        flags: { evictionHard: { 'memory.available': '2Mi' } },
        differs: { mergeDefaultEvictionSettings: true, evictionHard: { 'memory.available': '2Mi' } },
      },
    ],
    [
      'the later says last',
      {
        file: 'maxPods: 10\npodsPerCore: 1\nport: 1',
        dropIns: ['maxPods: 20\npodsPerCore: 2', 'maxPods: 30'],
        flags: { port: 4 },
        differs: { maxPods: 30, podsPerCore: 2, port: 4 },
      },
    ],
    [
      'a drop-in merges maps and objects, and replaces lists',
      {
        file: 'kubeReserved: {cpu: "1", memory: 1Gi}\nclusterDNS: [10.0.0.1]\nlogging: {format: json}',
        dropIns: ['kubeReserved: {cpu: "2"}\nclusterDNS: [10.0.0.2]\nlogging: {verbosity: 4}'],
        differs: {
          kubeReserved: { cpu: '2', memory: '1Gi' },
          clusterDNS: ['10.0.0.2'],
          logging: { ...defaultConfiguration.logging, format: 'json', verbosity: 4 },
        },
      },
    ],
    [
      'null in a drop-in takes away, so that the default comes back',
      {
        file: 'maxPods: 10\nkubeReserved: {cpu: "1", memory: 1Gi}\nsystemReserved: {cpu: "1"}',
        dropIns: ['maxPods: null\nkubeReserved: {memory: null}\nsystemReserved: null'],
        differs: { kubeReserved: { cpu: '1' } },
      },
    ],
    [
      'a zero in a drop-in is the default where it counts as not given',
      {
        file: 'maxPods: 10\nregistryPullQPS: 1',
        dropIns: ['maxPods: 0\nregistryPullQPS: 0'],
        differs: { registryPullQPS: 0 },
      },
    ],
    [
      'drop-ins alone are laid over the defaults',
      {
        dropIns: ['evictionHard: {memory.available: 1Gi}'],
        differs: { evictionHard: { ...defaultConfiguration.evictionHard, 'memory.available': '1Gi' } },
      },
    ],
    [
      'the defaults that depend on others are those of the file',
      {
        file: 'nodeStatusUpdateFrequency: 5s',
        dropIns: ['nodeStatusUpdateFrequency: 6s'],
        differs: { nodeStatusUpdateFrequency: 6000, nodeStatusReportFrequency: 5000 },
      },
    ],
    [
      'a flag replaces maps and lists, but sets feature gates one by one',
      {
        file: 'kubeReserved: {cpu: "1"}\nclusterDNS: [10.0.0.1]\nfeatureGates: {EnvFiles: true, HostnameOverride: false}',
        flags: {
          kubeReserved: { memory: '1Gi' },
          clusterDNS: ['10.0.0.9'],
          featureGates: { HostnameOverride: true, EventedPLEG: true },
        },
        differs: {
          kubeReserved: { memory: '1Gi' },
          clusterDNS: ['10.0.0.9'],
          featureGates: { EnvFiles: true, HostnameOverride: true, EventedPLEG: true },
        },
      },
    ],
    [
      'a zero of a flag stays, and one of a file is the default',
      {
        file: 'maxPods: 0\nregistryBurst: 0\nimageMinimumGCAge: 0s\nauthentication: {webhook: {cacheTTL: 0s}}',
        flags: { registryBurst: 0, imageMinimumGCAge: 0, logging: { flushFrequency: 0 } },
        differs: {
          registryBurst: 0,
          imageMinimumGCAge: 0,
          logging: { ...defaultConfiguration.logging, flushFrequency: 0 },
        },
      },
    ],
    [
      'flags alone decide the defaults that depend on others',
      { flags: { cgroupsPerQOS: false }, differs: { cgroupsPerQOS: false, enforceNodeAllocatable: [] } },
    ],
  ])('%s', (_title, { file, dropIns = [], flags, differs }) => {
    const { resolved, problems } = resolveKubeletConfiguration({
      file: file === undefined ? undefined : layerOf('kubelet.yaml', file),
      dropIns: dropIns.map((body, index) => layerOf(`${index}.conf`, body)),
      flags: flags && flagLayer(flags),
    });
    expect(problems).toEqual([]);
    expect(resolved?.configuration).toEqual({ ...defaultConfiguration, ...differs });
  });
});

describe('a problem', () => {
  test('is reported where the field was set last', () => {
    const file = layerOf('kubelet.yaml', 'maxPods: -1\nport: -1\nreadOnlyPort: -1\n');
    const dropIns = [
      layerOf('10.conf', 'port: -2\nreadOnlyPort: -2'),
      layerOf('20.conf', 'address: 0.0.0.0\nport: -3'),
    ];
    const flags = flagLayer({ readOnlyPort: -4 });
    expect(resolveKubeletConfiguration({ file, dropIns, flags })).toEqual({
      problems: [
        {
          origin: 'kubelet.yaml',
          line: 3,
          column: 10,
          field: 'maxPods',
          message: '-1 must be at least 0',
          severity: 'error',
        },
        {
          origin: '20.conf',
          line: 4,
          column: 7,
          field: 'port',
          message: '-3 must be between 1 and 65535, inclusive',
          severity: 'error',
        },
        {
          origin: '--readOnlyPort',
          field: 'readOnlyPort',
          message: '-4 must be between 0 and 65535, inclusive',
          severity: 'error',
        },
      ],
    });
  });

  test('with a default is reported for the last layer as a whole', () => {
    const file = layerOf('kubelet.yaml', 'imageGCHighThresholdPercent: 70');
    expect(resolveKubeletConfiguration({ file }).problems).toEqual([
      {
        origin: 'kubelet.yaml',
        field: 'imageGCLowThresholdPercent',
        message: '80 must be less than imageGCHighThresholdPercent 70',
        severity: 'error',
      },
    ]);
  });
});
