import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, gatesWithoutEffect, resolveFeatureGates } from '../../../src/api/values/feature-gates.ts';

describe('feature gates', () => {
  test('are at the defaults of 1.36 when none is set', () => {
    const { featureGates, problems } = resolveFeatureGates();
    expect(problems).toEqual([]);
    expect(featureGates).toEqual(defaultFeatureGates);
    expect(featureGates).toMatchObject({
      AllAlpha: false,
      ContainerRestartRules: true,
      ContainerStopSignals: false,
      EventedPLEG: false,
      GitRepoVolumeDriver: false,
      ImageVolume: true,
      NodeSwap: true,
      PodLevelResources: true,
      ProcMountType: true,
      RecursiveReadOnlyMounts: true,
      SidecarContainers: true,
      UserNamespacesSupport: true,
      WindowsHostNetwork: false,
    });
  });

  test('are set by name', () => {
    const { featureGates, problems } = resolveFeatureGates({ EventedPLEG: true, EnvFiles: false });
    expect(problems).toEqual([]);
    expect(featureGates).toEqual({ ...defaultFeatureGates, EventedPLEG: true, EnvFiles: false });
  });

  test('of a stage are set together, but for those that are named', () => {
    const { featureGates } = resolveFeatureGates({ AllAlpha: true, EventedPLEG: false, AllBeta: false });
    expect(featureGates).toMatchObject({
      AllAlpha: true,
      EventedPLEG: false,
      ContainerStopSignals: true,
      EnvFiles: false,
      ImageVolume: true,
      CustomCPUCFSQuotaPeriod: true,
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
        hint: 'Use a gate of Kubernetes 1.36, or leave it out.',
        severity: 'error',
      },
    ],
    [
      { AppArmor: true },
      {
        name: 'AppArmor',
        message: 'feature gate AppArmor was removed: Kubernetes 1.36 does not know it',
        hint: 'Delete it.',
        severity: 'error',
      },
    ],
    [
      { NodeSwap: false },
      {
        name: 'NodeSwap',
        message: 'cannot set feature gate NodeSwap to false, it is locked to true',
        severity: 'error',
      },
    ],
    [
      { PodLevelResources: false },
      {
        name: 'PodLevelResources',
        message:
          'feature gate InPlacePodLevelResourcesVerticalScaling is enabled but needs PodLevelResources, which is disabled',
        hint: 'Also set InPlacePodLevelResourcesVerticalScaling to false, or enable PodLevelResources.',
        severity: 'error',
      },
    ],
    [
      { ImageVolume: true },
      {
        name: 'ImageVolume',
        message: 'GA feature gate ImageVolume will be removed by a later release',
        severity: 'warning',
      },
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
    const set = { EventedPLEG: true, NodeSwap: true, KubeletCrashLoopBackOffMax: false, JobManagedBy: false };
    expect(gatesWithoutEffect(set)).toEqual(['EventedPLEG', 'JobManagedBy']);
  });
});
