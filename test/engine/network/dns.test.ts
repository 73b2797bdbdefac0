import { describe, expect, it } from 'vitest';
import { type DNSSettings, podDNS } from '../../../src/engine/network/dns.ts';
import { parseResolvConf } from '../../../src/engine/network/resolv-conf.ts';
import { makePod } from '../../builders/pods.ts';

const host = { servers: ['192.0.2.53'], searches: ['example.test'], options: ['ndots:2'] };
const settings: DNSSettings = {
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  hostResolvConf: host,
  nodeIPs: ['192.0.2.7'],
};

describe('podDNS', () => {
  it('falls back to the node and tells pod and node when no cluster DNS is configured', () => {
    const pod = makePod({ spec: { dnsPolicy: 'ClusterFirst' } });
    const { config, warnings } = podDNS(pod, { ...settings, clusterDNS: [] });
    expect(config).toEqual(host);
    expect(warnings.map(({ reason, about }) => [reason, about])).toEqual([
      ['MissingClusterDNS', 'node'],
      ['MissingClusterDNS', 'pod'],
    ]);
  });

  it('searches only where the node does when the cluster has no domain', () => {
    const pod = makePod({ spec: { dnsPolicy: 'ClusterFirst' } });
    expect(podDNS(pod, { ...settings, clusterDomain: '' }).config).toEqual({
      servers: ['10.96.0.10'],
      searches: ['example.test'],
      options: ['ndots:5'],
    });
  });

  it('keeps three servers and 2048 characters of search list, and warns of both', () => {
    const domains = Array.from({ length: 20 }, (_, index) => `${String(index).padStart(3, '0')}${'d'.repeat(197)}`);
    const pod = makePod({
      spec: {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'], searches: domains },
      },
    });
    const { config, warnings } = podDNS(pod, settings);
    expect(config).toEqual({ servers: ['1.1.1.1', '2.2.2.2', '3.3.3.3'], searches: domains.slice(0, 10), options: [] });
    expect(warnings.map(({ reason, about }) => [reason, about])).toEqual([
      ['DNSConfigForming', 'pod'],
      ['DNSConfigForming', 'pod'],
    ]);
  });
});

describe('parseResolvConf', () => {
  it('skips comments and unknown words, and takes the last search line', () => {
    const text =
      '# by hand\nnameserver 192.0.2.53\nsortlist x\nsearch a.\nsearch b. . c\noptions ndots:1 rotate\noptions ndots:3\n';
    expect(parseResolvConf(text)).toEqual({
      servers: ['192.0.2.53'],
      searches: ['b', 'c'],
      options: ['ndots:3', 'rotate'],
    });
  });

  it('names the line of a nameserver without an address', () => {
    expect(() => parseResolvConf('search a\nnameserver\n', '/etc/resolv.conf')).toThrow(
      '/etc/resolv.conf:2: nameserver',
    );
  });
});
