import type { Pod } from '../../api/types.ts';
import { podFullName } from '../../api/values/pod-names.ts';

/** The pods that are declared now, as the sync loop last heard of them. kubelet: pod/pod_manager.go */
export class PodManager {
  private readonly byUID = new Map<string, Pod>();

  /** Adds the pod, or replaces what is known under its UID. */
  setPod(pod: Pod): void {
    this.byUID.set(pod.metadata.uid, pod);
  }

  removePod(uid: string): void {
    this.byUID.delete(uid);
  }

  get(uid: string): Pod | undefined {
    return this.byUID.get(uid);
  }

  getByFullName(fullName: string): Pod | undefined {
    return this.pods().find((pod) => podFullName(pod.metadata) === fullName);
  }

  pods(): Pod[] {
    return [...this.byUID.values()];
  }
}
