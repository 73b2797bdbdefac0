interface NamedPod {
  fullName: string;
  uid: string;
}

/**
 * Lets one static pod of a full name start at a time. The others wait in their order. kubelet: pod_workers.go
 * allowStaticPodStart
 */
export class StaticPodGate {
  /** UIDs by full name. The first one holds the name. */
  private readonly lines = new Map<string, string[]>();

  join({ fullName, uid }: NamedPod): void {
    this.lines.set(fullName, [...(this.lines.get(fullName) ?? []), uid]);
  }

  mayStart({ fullName, uid }: NamedPod): boolean {
    return this.lines.get(fullName)?.[0] === uid;
  }

  /** Returns the UID of the pod that now holds the freed name, or undefined. */
  leave({ fullName, uid }: NamedPod): string | undefined {
    const line = this.lines.get(fullName) ?? [];
    const rest = line.filter((other) => other !== uid);
    if (rest.length === 0) this.lines.delete(fullName);
    else this.lines.set(fullName, rest);
    return rest[0] === line[0] ? undefined : rest[0];
  }
}
