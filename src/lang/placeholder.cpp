#include "lang/elaborate.h"
