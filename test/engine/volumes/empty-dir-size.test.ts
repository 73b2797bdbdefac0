import { describe, expect, test } from 'vitest';
import type { Container } from '../../../src/api/types.ts';
import { hugePageVolumePageBytes, memoryVolumeBytes } from '../../../src/engine/volumes/empty-dir.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const podOf = (...resources: NonNullable<Container['resources']>[]) =>
  makePod({ spec: { containers: resources.map((part, at) => makeContainer({ name: `c${at}`, resources: part })) } });

describe('a volume in memory', () => {
  const limited = (memory: string): NonNullable<Container['resources']> => ({
    limits: { memory },
    requests: { memory },
  });

  test.each<[string, ReturnType<typeof podOf>, string | undefined, bigint]>([
    ['the memory that pods may use', podOf({}), undefined, 1024n ** 3n],
    ['its own limit, when that is less', podOf({}), '3Mi', 3n * 1024n ** 2n],
    ['no more than pods may use, whatever its limit', podOf({}), '2Gi', 1024n ** 3n],
    ['what the pod may use', podOf(limited('64Mi'), limited('32Mi')), undefined, 96n * 1024n ** 2n],
    ['the less of its limit and what the pod may use', podOf(limited('64Mi')), '65Mi', 64n * 1024n ** 2n],
    ['all, when not every container is limited', podOf(limited('64Mi'), {}), undefined, 1024n ** 3n],
    ['all, when its limit is zero', podOf({}), '0', 1024n ** 3n],
  ])('holds %s', (_title, pod, sizeLimit, bytes) => {
    expect(memoryVolumeBytes(pod, sizeLimit, '1Gi')).toBe(bytes);
  });

  test('is left to the kernel if no limit is known', () => {
    expect(memoryVolumeBytes(podOf({}), undefined, undefined)).toBeUndefined();
  });
});

describe('a volume of huge pages', () => {
  const asking = (...names: string[]): NonNullable<Container['resources']> => ({
    requests: Object.fromEntries(names.map((name) => [name, '1Gi'])),
  });

  test.each<[string, ReturnType<typeof podOf>, bigint]>([
    ['HugePages', podOf(asking('hugepages-2Mi'), asking('cpu', 'hugepages-2Mi')), 2n * 1024n ** 2n],
    ['HugePages-2Mi', podOf(asking('hugepages-2Mi', 'hugepages-1Gi')), 2n * 1024n ** 2n],
    ['HugePages-1024Mi', podOf(asking('hugepages-2Mi', 'hugepages-1Gi')), 1024n ** 3n],
  ])('of medium %s has pages of the size the pod asks for', (medium, pod, bytes) => {
    expect(hugePageVolumePageBytes(pod, medium)).toBe(bytes);
  });

  test('is rejected if pods request none of its pages, or two sizes', () => {
    const none = 'hugePages storage requested, but there is no resource request for huge pages';
    expect(() => hugePageVolumePageBytes(podOf(asking('cpu')), 'HugePages')).toThrow(`medium HugePages: ${none}`);
    expect(() => hugePageVolumePageBytes(podOf(asking('hugepages-2Mi')), 'HugePages-1Gi')).toThrow(none);
    expect(() => hugePageVolumePageBytes(podOf(asking('hugepages-2Mi', 'hugepages-1Gi')), 'HugePages')).toThrow(
      "medium: HugePages can't be used if container requests multiple huge page sizes",
    );
  });
});
