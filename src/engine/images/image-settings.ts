import type { ImageGCPolicy } from './image-gc.ts';

/** How images are pulled, and when they go. kubelet: KubeletConfiguration */
export interface ImageSettings {
  /** How many pulls may run at a time. kubelet: serializeImagePulls, maxParallelImagePulls */
  maxParallelPulls: number;
  /** How many pulls may begin in a second; 0: any number. kubelet: registryPullQPS */
  registryPullQPS: number;
  /** How many pulls may begin at once. kubelet: registryBurst */
  registryBurst: number;
  gc: ImageGCPolicy;
}
