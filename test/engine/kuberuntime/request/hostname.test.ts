import { describe, expect, it } from 'vitest';
import { kernelHostname, podHostname } from '../../../../src/engine/kuberuntime/request/hostname.ts';
import { UserError } from '../../../../src/errors.ts';
import { makePod } from '../../../builders/pods.ts';

describe('podHostname', () => {
  it('is the name of the pod unless the spec has one', () => {
    expect(podHostname(makePod(), 'cluster.local')).toEqual({ hostname: 'web-node1', domain: '' });
    expect(podHostname(makePod({ spec: { hostname: 'db-0' } }), 'cluster.local')).toEqual({
      hostname: 'db-0',
      domain: '',
    });
  });

  it('puts a pod with a subdomain into the domain of its namespace', () => {
    expect(podHostname(makePod({ spec: { subdomain: 'db' } }), 'cluster.local')).toEqual({
      hostname: 'web-node1',
      domain: 'db.default.svc.cluster.local',
    });
  });

  it('has the domain of Services if the node has none', () => {
    expect(podHostname(makePod({ spec: { hostname: 'db-0', subdomain: 'db' } }), '')).toEqual({
      hostname: 'db-0',
      domain: 'db.default.svc.cluster.local',
    });
  });

  it('cuts a long name to 63 characters and leaves no dash or dot at the end', () => {
    const name = `${'a'.repeat(61)}-.tail`;
    expect(podHostname(makePod({ metadata: { name } }), 'cluster.local').hostname).toBe('a'.repeat(61));
  });
});

describe('kernelHostname', () => {
  const asFQDN = makePod({ spec: { setHostnameAsFQDN: true } });

  it('has the domain only if the pod asks for it', () => {
    const names = { hostname: 'db-0', domain: 'db.default.svc.x' };
    expect(kernelHostname(makePod(), names)).toBe('db-0');
    expect(kernelHostname(asFQDN, names)).toBe('db-0.db.default.svc.x');
    expect(kernelHostname(asFQDN, { hostname: 'db-0', domain: '' })).toBe('db-0');
  });

  it('takes 64 characters and refuses 65', () => {
    expect(kernelHostname(asFQDN, { hostname: 'h'.repeat(32), domain: 'd'.repeat(31) })).toHaveLength(64);
    expect(() => kernelHostname(asFQDN, { hostname: 'h'.repeat(32), domain: 'd'.repeat(32) })).toThrow(UserError);
  });
});

it('hostnameOverride replaces hostname and subdomain, cut to the length of a host name', () => {
  const overridden = (hostnameOverride: string) =>
    podHostname(makePod({ spec: { hostname: 'a', subdomain: 'b', hostnameOverride } }), 'cluster.local');
  expect(overridden('box.lan')).toEqual({ hostname: 'box.lan', domain: '' });
  expect(overridden(`${'a'.repeat(62)}.b`)).toEqual({ hostname: 'a'.repeat(62), domain: '' });
});
