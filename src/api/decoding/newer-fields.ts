/**
 * Fields that Kubernetes added after the release that we follow, by object and name, with their release. They are
 * ignored, but they are no mistakes of the author.
 */
const newerFields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ClusterTrustBundleProjection: { user: '1.37' },
  ConfigMapVolumeSource: { defaultUser: '1.37' },
  DownwardAPIVolumeFile: { user: '1.37' },
  DownwardAPIVolumeSource: { defaultUser: '1.37' },
  EmptyDirVolumeSource: { mode: '1.37' },
  GRPCAction: { mode: '1.37' },
  HTTPGetAction: { protocol: '1.37' },
  JobSpec: { scheduling: '1.37' },
  KeyToPath: { user: '1.37' },
  KubeletConfiguration: { defaultPodSysctls: '1.37' },
  PersistentVolumeClaimStatus: { healthStatus: '1.37' },
  PodCertificateProjection: { user: '1.37' },
  PodSpec: { evictionResponders: '1.37' },
  PodStatus: { volumeHealth: '1.37' },
  ProjectedVolumeSource: { defaultUser: '1.37' },
  SecretVolumeSource: { defaultUser: '1.37' },
  ServiceAccountTokenProjection: { user: '1.37' },
  VolumeMount: { bindMountOptions: '1.37' },
};

/** The Kubernetes release that added the field. Undefined if no release that we know has it. */
export function releaseOfField(objectName: string, field: string): string | undefined {
  const fields = newerFields[objectName];
  return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
}
