import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, gatesWithoutEffect, resolveFeatureGates } from '../../../src/api/values/feature-gates.ts';

describe('feature gates', () => {
  test('are at the defaults of 1.32 when none is set', () => {
    const { featureGates, problems } = resolveFeatureGates();
    expect(problems).toEqual([]);
    expect(featureGates).toEqual(defaultFeatureGates);
    expect(featureGates).toMatchObject({
      AllAlpha: false,
      AppArmor: true,
      EventedPLEG: false,
      ImageVolume: false,
      NodeSwap: true,
      PodLevelResources: false,
      ProcMountType: false,
      RecursiveReadOnlyMounts: true,
      SidecarContainers: true,
      UserNamespacesSupport: false,
      WindowsHostNetwork: true,
    });
  });

  test('are set by name', () => {
    const { featureGates, problems } = resolveFeatureGates({ ImageVolume: true, NodeSwap: false });
    expect(problems).toEqual([]);
    expect(featureGates).toEqual({ ...defaultFeatureGates, ImageVolume: true, NodeSwap: false });
  });

  test('of a stage are set together, but for those that are named', () => {
    const { featureGates } = resolveFeatureGates({ AllAlpha: true, EventedPLEG: false, AllBeta: false });
    expect(featureGates).toMatchObject({
      AllAlpha: true,
      EventedPLEG: false,
      ImageVolume: true,
      NodeSwap: false,
      ProcMountType: false,
      AppArmor: true,
      ExecProbeTimeout: true,
      KMSv1: false,
    });
  });

  test.each([
    [
      { ImageVolumes: true },
      {
        name: 'ImageVolumes',
        message: 'unrecognized feature gate: ImageVolumes',
        hint: 'Did you mean "ImageVolume"?',
        severity: 'error',
      },
    ],
    [
      { Whatever: false },
      {
        name: 'Whatever',
        message: 'unrecognized feature gate: Whatever',
        hint: 'Use a gate of Kubernetes 1.32, or leave it out.',
        severity: 'error',
      },
    ],
    [
      { AppArmor: false },
      {
        name: 'AppArmor',
        message: 'cannot set feature gate AppArmor to false, it is locked to true',
        severity: 'error',
      },
    ],
    [
      { AppArmor: true },
      { name: 'AppArmor', message: 'GA feature gate AppArmor will be removed by a later release', severity: 'warning' },
    ],
    [
      { KMSv1: true },
      {
        name: 'KMSv1',
        message: 'deprecated feature gate KMSv1 will be removed by a later release',
        severity: 'warning',
      },
    ],
  ])('say what is wrong with %j', (set, problem) => {
    expect(resolveFeatureGates(set).problems).toEqual([problem]);
  });

  test('say which of those that were changed nothing here asks', () => {
    const set = { EventedPLEG: true, NodeSwap: true, KubeletCrashLoopBackOffMax: true, JobManagedBy: false };
    expect(gatesWithoutEffect(set)).toEqual(['EventedPLEG', 'JobManagedBy']);
  });
});
