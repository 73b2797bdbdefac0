import { expect, test } from 'vitest';
import { expand } from '../../src/api/values/expand.ts';
import { parseQuantity } from '../../src/api/values/quantity.ts';
import { checkDNS1123Label, nearestValidName } from '../../src/api/values/names.ts';
import { loadPod } from '../builders/load-pod.ts';

// Each of these took seconds or worse when a pattern looked at the same characters again and again.

test('refuses a long text that is nearly a quantity at once', () => {
  const texts = ['0', '1', '0.0', '9E', '-0'].map((start) => `${start.repeat(300)}x`);
  for (let times = 0; times < 200; times++) expect(texts.map(parseQuantity)).toEqual(texts.map(() => undefined));
});

test('expands nothing in very many openings of a name', () => {
  const text = `$$(A)${'$('.repeat(100_000)}$$`;
  expect(expand(text, () => 'never')).toBe(`$(A)${'$('.repeat(100_000)}$`);
});

test('has no proposal for a name that is too long for any', () => {
  expect(nearestValidName(`${'-'.repeat(200_000)}a`, checkDNS1123Label)).toBeUndefined();
});

test('refuses a long text that is nearly the name of an iSCSI target', () => {
  const iqn = `${'iqn.2001-04.'.repeat(20_000)}:a,`;
  const volumes = [{ name: 'v', iscsi: { iqn, lun: 0, targetPortal: '192.0.2.1' } }];
  const spec = { containers: [{ name: 'c', image: 'i' }], volumes };
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
  const { problems } = loadPod(text, { nodeName: 'n', source: 'file', origin: '/web.json', hash: () => 'h' });
  expect(problems.map(({ field }) => field)).toEqual(['spec.volumes[0].iscsi.iqn']);
});

test('takes the name of an iSCSI target with what stands before it, as the API does', () => {
  const volumes = [
    { name: 'v', iscsi: { iqn: 'iqn, iqn.2001-04.com.example:a:b', lun: 0, targetPortal: '192.0.2.1' } },
  ];
  const spec = { containers: [{ name: 'c', image: 'i' }], volumes };
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
  const options = { nodeName: 'n', source: 'file', origin: '/web.json', hash: () => 'h' } as const;
  expect(loadPod(text, options).pod?.spec.volumes).toEqual([
    { name: 'v', iscsi: { ...volumes[0]?.iscsi, iscsiInterface: 'default' } },
  ]);
});
