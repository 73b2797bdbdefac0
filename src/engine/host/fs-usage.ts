/** Usage of a file system, or of a part of one. A figure that is not known is absent. */
export interface FsUsage {
  availableBytes?: number;
  capacityBytes?: number;
  usedBytes?: number;
  inodesFree?: number;
  inodes?: number;
  inodesUsed?: number;
}
